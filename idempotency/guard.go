package idempotency

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/event"
)

// Config of a [Guard].
type Config struct {
	// Group is the consumer group whose effects are guarded; required, without
	// a colon. Each group handles each event once.
	Group string
	// Key names the effect; [ByEvent] when nil.
	Key KeyFunc
	// Codec decodes messages for [Guard.Middleware]; [event.Decode] when nil,
	// which reads every mode and binding, up to 1 MiB.
	Codec event.Codec
	// OnDuplicate is called for each event that is skipped, before Do returns;
	// for counting. It must not block.
	OnDuplicate func(ctx context.Context, e event.Event)
}

func (c Config) validate() error {
	if c.Group == "" {
		return errors.New("idempotency: Config.Group is empty; give the consumer group's name")
	}
	if strings.Contains(c.Group, ":") {
		return fmt.Errorf("idempotency: Config.Group %q holds a colon, which separates the parts of a key; use another character", c.Group)
	}
	return nil
}

// Guard runs a handler once per key.
type Guard struct {
	store  Store
	cfg    Config
	counts guardCounts
}

// New makes a guard for one consumer group. The store can be shared by many.
func New(store Store, cfg Config) (*Guard, error) {
	if store == nil {
		return nil, errors.New("idempotency: the store is nil; make one with sqlidempotency.New")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Key == nil {
		cfg.Key = ByEvent
	}
	return &Guard{store: store, cfg: cfg}, nil
}

// Do runs fn if the event's key is new for this group, and reports whether it
// was. The context given to fn carries the store's transaction (sqltx.From) and
// the event ([EventFrom]). An error of fn comes back as it is and rolls all
// back; then the event can be tried again. An event of which no key can be made
// is refused with a permanent error.
//
// FN CAN RUN MORE THAN ONCE in one call: a SQL store runs it again, in a new
// transaction, when the database rolled the first one back for a conflict with
// another (a serialization failure or a deadlock, in fn or at COMMIT; see
// sqltx.Do). What fn wrote in the transaction is gone by then. What it did
// elsewhere is not: move that behind the commit with sqltx.AfterCommit.
func (g *Guard) Do(ctx context.Context, e event.Event, fn func(ctx context.Context) error) (fresh bool, err error) {
	r, err := g.record(e)
	if err != nil {
		return false, err
	}
	fresh, err = g.store.Once(ctx, r, func(ctx context.Context) error {
		return fn(context.WithValue(ctx, eventKey{}, e))
	})
	switch {
	case err != nil:
		g.counts.failed.Add(1)
		return false, err
	case fresh:
		g.counts.handled.Add(1)
		return true, nil
	}
	g.counts.duplicates.Add(1)
	if g.cfg.OnDuplicate != nil {
		g.cfg.OnDuplicate(ctx, e)
	}
	return false, nil
}

type eventKey struct{}

// EventFrom returns the event that a [Guard] is handling.
func EventFrom(ctx context.Context) (event.Event, bool) {
	e, ok := ctx.Value(eventKey{}).(event.Event)
	return e, ok
}
