package outbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/intx"
	"github.com/millrace-go/millrace/internal/otelmsg"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/sqltx"
)

// Outbox writes events in the caller's transaction. It is safe for concurrent
// use.
type Outbox struct {
	store  driver.Store
	cfg    Config
	signal driver.Signal // nil when the store has none
	bell   *bell         // nil when the store cannot reach other processes
	ringIn driver.Notifier
	tracer *otelmsg.Tracer // nil when no spans are made
}

// New creates an Outbox on store. It does no I/O.
func New(store driver.Store, cfg Config) (*Outbox, error) {
	if store == nil {
		return nil, errors.New("outbox: store is nil")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	o := &Outbox{store: store, cfg: cfg, tracer: otelmsg.New(cfg.TracerProvider, "outbox", ownSystem)}
	o.signal, _ = store.(driver.Signal)
	notifier, ok := store.(driver.Notifier)
	switch {
	case cfg.NotifyInTransaction && !ok:
		return nil, fmt.Errorf("outbox: Config.NotifyInTransaction is set: %w; leave it false", driver.ErrUnsupported)
	case cfg.NotifyInTransaction:
		o.ringIn = notifier
	case ok:
		o.bell = newBell(notifier.Notify, cfg)
	}
	return o, nil
}

// Append writes events inside tx, to the topic of the configuration. They are published when tx
// commits, and never if it rolls back. If one event is invalid, Append writes none of them; the
// error names the event. If tx is not a transaction, Append fails with
// [sqltx.ErrNoTransaction]: see [sqltx.CheckTx] for the rules, and for how your own wrapper can
// declare itself a transaction.
//
// An event without a correlation id takes the one of ctx: see [event.Event.In]. An event
// without TraceParent takes that of its "create" span, or of the span in ctx; see
// Config.TracerProvider. Otherwise the event keeps its own.
//
// Call Append after the aggregate's row is locked (or its version checked): the events of two
// writers are in commit order only if the writers were synchronised.
//
// Inside [sqltx.Do], the relays are woken after the commit. With a bare *sql.Tx, call
// [Outbox.Wake] after the commit, or rely on the relays' Interval.
func (o *Outbox) Append(ctx context.Context, tx sqltx.Execer, events ...event.Event) error {
	return o.append(ctx, tx, o.topic, events)
}

// AppendTo is Append to the given topic.
func (o *Outbox) AppendTo(ctx context.Context, tx sqltx.Execer, topic string, events ...event.Event) error {
	return o.append(ctx, tx, func(event.Event) (string, error) { return topic, nil }, events)
}

func (o *Outbox) topic(e event.Event) (string, error) {
	if o.cfg.Route != nil {
		return o.cfg.Route(e)
	}
	return o.cfg.Topic, nil
}

func (o *Outbox) append(ctx context.Context, tx sqltx.Execer, topic func(event.Event) (string, error), events []event.Event) (err error) {
	if err := sqltx.CheckTx(tx); err != nil {
		return fmt.Errorf("%w: %w", driver.ErrNoTransaction, err)
	}
	if len(events) == 0 {
		return nil
	}
	var made creation
	defer func() { made.end(err) }()
	records := make([]driver.Record, len(events))
	for i, e := range events {
		if records[i], err = o.record(ctx, e, topic, &made); err != nil {
			return fmt.Errorf("outbox: append event %d of %d (%q %q): %w", i+1, len(events), e.Type, e.ID, err)
		}
	}
	if err := o.store.Append(ctx, tx, records); err != nil {
		return fmt.Errorf("outbox: append: %w", err)
	}
	if o.ringIn != nil {
		if err := o.ringIn.NotifyIn(ctx, tx); err != nil {
			return fmt.Errorf("outbox: append: %w", err)
		}
	}
	if carried, ok := intx.From(ctx); ok && tx == sqltx.Execer(carried) {
		sqltx.AfterCommit(ctx, o.Wake)
	}
	return nil
}

func (o *Outbox) record(ctx context.Context, e event.Event, topic func(event.Event) (string, error), made *creation) (driver.Record, error) {
	e = e.In(ctx)
	if err := e.Validate(); err != nil {
		return driver.Record{}, err
	}
	name, err := topic(e)
	if err != nil {
		return driver.Record{}, fmt.Errorf("route: %w", err)
	}
	if name == "" {
		return driver.Record{}, errNoTopic
	}
	made.in(ctx, o.tracer, name, &e)
	msg, err := o.cfg.Encode(e)
	if err != nil {
		return driver.Record{}, err
	}
	return driver.Record{Topic: name, Event: e, Message: msg}, nil
}

// Wake tells the relays of this process, and of other processes if the store can, that events
// were committed. Call it after the commit of a bare *sql.Tx; a relay that is woken before the
// commit finds no events. Wake never blocks, and many calls in a short time cost one wake-up.
func (o *Outbox) Wake() {
	if o.signal != nil {
		o.signal.Wake()
	}
	if o.bell != nil {
		o.bell.ring()
	}
}

// Close waits until the requested wake-ups of other processes are sent, or until ctx is done.
// Events can still be appended afterwards; the relays find them after their Interval. An Outbox
// on a store without [driver.Notifier] need not be closed.
func (o *Outbox) Close(ctx context.Context) error {
	if o.bell == nil {
		return nil
	}
	return o.bell.close(ctx)
}
