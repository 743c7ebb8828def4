package idempotency

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/internal/consuming"
)

// Config configures a [Guard].
type Config struct {
	// Group is the consumer group of the guard; required, without a colon. Each group handles
	// each event once.
	Group string
	// Key names the effect that the group has on behalf of an event; {group}:{eventId} when
	// nil. Two calls with equal results are one effect. An error refuses the event permanently.
	Key func(group string, e event.Event) (string, error)
	// Decode decodes messages for [Handler.HandleMessage]; [event.Decode] when nil, which reads
	// every mode and binding, up to 1 MiB.
	Decode func(msg *message.Message) (event.Event, error)
	// OnDuplicate is called for each skipped event, before Do returns; use it for counting. It
	// must not block.
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

// NoTx is the Tx of a [Guard] whose effects are not rows of the store's database: the effects
// of a guard on Redis or memory. The key is recorded after the effect, so a crash between the
// two repeats the effect.
type NoTx struct{}

// Guard runs a handler once per key. Tx is the transaction that the handler gets, which
// includes the key: *sql.Tx on a store of package sqlidempotency, [NoTx] on a store without
// transactions.
type Guard[Tx any] struct {
	store  driver.Store
	tx     func(ctx context.Context) (Tx, bool)
	cfg    Config
	counts guardCounts
}

// New creates a guard for one consumer group:
//
//	guard, err := idempotency.New[*sql.Tx](store, idempotency.Config{Group: "sales"})
//
// New fails if the store has no transactions of type Tx. Many guards can share the store.
func New[Tx any](store driver.Store, cfg Config) (*Guard[Tx], error) {
	if store == nil {
		return nil, errors.New("idempotency: the store is nil; make one with sqlidempotency.New")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	tx, err := transactions[Tx](store)
	if err != nil {
		return nil, err
	}
	if cfg.Key == nil {
		cfg.Key = byEvent
	}
	if cfg.Decode == nil {
		cfg.Decode = event.Decode
	}
	return &Guard[Tx]{store: store, tx: tx, cfg: cfg}, nil
}

// transactions returns a function that finds the store's transaction in a context.
func transactions[Tx any](store driver.Store) (func(ctx context.Context) (Tx, bool), error) {
	if _, none := any(*new(Tx)).(NoTx); none {
		return func(context.Context) (tx Tx, ok bool) { return tx, true }, nil
	}
	decides := store
	if l, ok := store.(*layered); ok {
		decides = l.truth
	}
	if s, ok := decides.(driver.TxStore[Tx]); ok {
		return s.Tx, nil
	}
	return nil, fmt.Errorf("idempotency: the store %T carries no transaction of type %v, so effects in a database would not commit with their key; "+
		"use a store of sqlidempotency on that database with *sql.Tx, or New[idempotency.NoTx] for effects that need no transaction",
		decides, reflect.TypeFor[Tx]())
}

// Do runs fn if the event's key is new for this group, and reports whether the key was new. fn
// gets the store's transaction, and the context of [event.NewContext]. An error of fn is
// returned unchanged and rolls the transaction back; then the event can be retried. An event
// without a key is refused with a permanent error. In a consumer of package bus of another group
// than the guard's, Do returns an infrastructure error, so that the consumer pauses: events that
// the guard's group has handled would be acknowledged without an effect.
//
// FN CAN RUN MORE THAN ONCE in one call: a SQL store runs it again, in a new transaction, if
// the database rolled the first one back because of a conflict with another (a serialization
// failure or a deadlock, in fn or at COMMIT; see sqltx.Do). The writes of fn in the rolled-back
// transaction are undone, but its effects elsewhere are not: move those behind the commit with
// sqltx.AfterCommit.
func (g *Guard[Tx]) Do(ctx context.Context, e event.Event, fn func(ctx context.Context, tx Tx) error) (fresh bool, err error) {
	if err := g.belongs(ctx); err != nil {
		return false, err
	}
	r, err := g.cfg.record(e)
	if err != nil {
		return false, err
	}
	fresh, err = g.store.Once(ctx, r, func(ctx context.Context) error {
		tx, err := g.begun(ctx)
		if err != nil {
			return err
		}
		return fn(event.NewContext(ctx, e), tx)
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

// belongs refuses a guard in a consumer of another group. A handler of [Guard.Handle] is refused
// earlier, when its consumer is added.
func (g *Guard[Tx]) belongs(ctx context.Context) error {
	group, ok := consuming.Group(ctx)
	if !ok || group == g.cfg.Group {
		return nil
	}
	return fault.MarkInfrastructure(fmt.Errorf("idempotency: the guard belongs to another group than the consumer: it records effects of %q, "+
		"the consumer's group is %q; make the guard with Config.Group %q", g.cfg.Group, group, group))
}

// begun returns the transaction that the store has begun or joined.
func (g *Guard[Tx]) begun(ctx context.Context) (Tx, error) {
	tx, ok := g.tx(ctx)
	if !ok {
		return tx, fmt.Errorf("idempotency: the store %T ran the handler without a transaction of type %v; the store does not keep its promise of TxStore.Tx",
			g.store, reflect.TypeFor[Tx]())
	}
	return tx, nil
}
