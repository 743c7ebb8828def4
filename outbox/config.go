package outbox

import (
	"errors"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/event"
)

// Config configures an [Outbox]. The zero value works with AppendTo.
type Config struct {
	// Topic is the topic of every event of Append. Set Topic or Route, not both.
	Topic string
	// Route returns the topic of each event of Append. If it returns an error, Append appends
	// none of the events.
	Route func(event.Event) (string, error)
	// Encode makes the message of an event: a method of [event.Structured], which is the default,
	// of [event.Binary], or a function of your own.
	Encode func(event.Event) (*message.Message, error)
	// NotifyInTransaction makes the caller's own COMMIT wake the relays of other processes. Set
	// it if transactions do not run in [sqltx.Do] and Wake is not called. It costs a round trip
	// per Append, and on PostgreSQL a lock of the whole database during each such COMMIT:
	// measure before use.
	NotifyInTransaction bool
	// NotifyTimeout bounds one wake-up of other processes; 5 s when zero. A failed wake-up is
	// logged; the relays then find the events after their Interval.
	NotifyTimeout time.Duration
	// TracerProvider makes a "create" span for each event without a trace context. When nil, no
	// span is made, and such an event takes the context of the span in Append's ctx.
	TracerProvider trace.TracerProvider
	// Logger receives failed wake-ups; slog.Default() when nil.
	Logger *slog.Logger
}

func (c Config) validate() error {
	if c.Topic != "" && c.Route != nil {
		return errors.New("outbox: Config.Topic and Config.Route are both set; keep one")
	}
	if c.NotifyTimeout < 0 {
		return errors.New("outbox: Config.NotifyTimeout is negative; use 0 for 5s")
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Encode == nil {
		c.Encode = event.Structured{}.Encode
	}
	if c.NotifyTimeout == 0 {
		c.NotifyTimeout = 5 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}
