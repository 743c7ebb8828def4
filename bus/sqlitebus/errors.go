package sqlitebus

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/internal/sqllog/logsub"
)

// translate gives an error the class that the driver knows, and the sentinels
// of package bus. A lock that outlasts the busy timeout is trouble with our own
// database, not with a message, so it counts as infrastructure: consumers pause.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, logsub.ErrClosed):
		return fmt.Errorf("sqlitebus: %w", bus.ErrClosed)
	}
	err = fmt.Errorf("sqlitebus: %w", err)
	if errors.Is(err, context.DeadlineExceeded) {
		// The bus's own time limit: the file, or its one writer connection, was
		// not to be had for so long.
		return fault.MarkInfrastructure(err)
	}
	switch sqlitedb.Classify(err) {
	case fault.Transient, fault.Infrastructure:
		return fault.MarkInfrastructure(err)
	case fault.Permanent:
		return fault.MarkPermanent(err)
	}
	return err
}

type publisher struct{ *logsub.Publisher }

func (p publisher) Publish(topic string, messages ...*message.Message) error {
	return translate(p.Publisher.Publish(topic, messages...))
}

type subscriber struct{ *logsub.Subscriber }

func (s subscriber) SubscribeInitialize(topic string) error {
	return translate(s.Subscriber.SubscribeInitialize(topic))
}

func (s subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	out, err := s.Subscriber.Subscribe(ctx, topic)
	return out, translate(err)
}

func (s subscriber) Close() error { return translate(s.Subscriber.Close()) }
