package outboxbench

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/proof/place"
)

// Sink receives the published events: the event's id, or its number. It must be
// safe for concurrent use.
type Sink func(id string)

// system is one outbox implementation under measurement.
type system interface {
	// name is the system's name in reports.
	name() string
	// at is the place of its tables.
	at() place.Place
	// fill makes the schema afresh with n committed events of the given payload.
	fill(ctx context.Context, n int, payload []byte) error
	// relay publishes into sink until ctx is done.
	relay(ctx context.Context, sink Sink) error
	// appender returns a function that appends one event in a transaction of its
	// own and returns its id after the commit.
	appender(ctx context.Context) (appendOne func(payload []byte) (id string, err error), done func(), err error)
}

// counter is a publisher that hands ids to a sink and keeps nothing.
type counter struct{ sink Sink }

func (c counter) Publish(_ string, messages ...*message.Message) error {
	for _, m := range messages {
		c.sink(m.UUID)
	}
	return nil
}

func (counter) Close() error { return nil }

// deadline bounds one measurement of a system.
const deadline = 3 * time.Minute
