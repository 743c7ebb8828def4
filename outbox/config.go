package outbox

import (
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/event"
)

// Config of an [Outbox]. The zero value works with AppendTo.
type Config struct {
	// Topic is where Append sends every event. Set this or Route, not both.
	Topic string
	// Route names the topic of each event for Append. Its error refuses the
	// event, and with it the whole Append.
	Route func(event.Event) (string, error)
	// Codec encodes events into messages; [event.Structured] when nil.
	Codec event.Codec
	// NotifyInTransaction makes the caller's own COMMIT wake the relays of other
	// processes, which they need when transactions do not run in [sqltx.Do] and
	// nobody calls Wake. It costs a round trip per Append, and on PostgreSQL a
	// lock of the whole database during each such COMMIT: measure before use.
	NotifyInTransaction bool
	// NotifyTimeout bounds one wake-up of other processes; 5 s when zero. A
	// wake-up that fails is logged, and costs them at most their Interval.
	NotifyTimeout time.Duration
	// TracerProvider makes a "create" span for each event that has no trace context
	// of its own. When nil, none is made, and such an event takes the context of the
	// span that Append's ctx has.
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
	if c.Codec == nil {
		c.Codec = event.Structured{}
	}
	if c.NotifyTimeout == 0 {
		c.NotifyTimeout = 5 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}
