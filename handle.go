package millrace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency"
)

// consumer holds the handlers of one group for one topic.
type consumer[Tx any] struct {
	topic, group string
	handlers     map[string]bus.EventHandler // by the event's type
	one          bus.Consumer
	batch        *bus.BatchConsumer
}

// Handle registers fn as the handler of events of type E in a group. Each event takes effect
// once per group, however often it is delivered: the rows that fn writes with tx and the events
// that fn emits commit together with the event's key. Events of one key are handled one after
// the other, in the order of their commits.
//
// FN CAN RUN MORE THAN ONCE for an event, after a failure or a conflict in the database. The
// writes of the earlier run are rolled back by then. For effects outside the database see
// [HandleOutside].
//
// An option changes the consumer of the group and the topic, for example its Concurrency, Retry,
// Timeout or DeadLetter. It cannot change Topic, Group and the handler. If one group has several
// handlers for a topic, the options of all of them apply.
//
//	millrace.Handle(app, "totals", add, func(c *bus.Consumer) { c.Concurrency = 32 })
//
// Run returns the errors of a registration. A handler that is registered after Run has begun
// handles nothing, which is logged as an error.
func Handle[Tx any, E Event](a *App[Tx], group string, fn func(ctx context.Context, tx Tx, e E) error, options ...func(*bus.Consumer)) {
	handleEach(a, group, fn == nil, options, func() (handler[E], error) {
		guard, err := a.guard(group)
		return func(ctx context.Context, e event.Event, data E) error {
			_, err := guard.Do(ctx, e, func(ctx context.Context, tx Tx) error { return fn(ctx, tx, data) })
			return err
		}, err
	})
}

// HandleOutside is Handle for an effect outside the database, such as an email or a call of
// another service. A lease holds the event's key while fn runs, and the key is recorded when fn
// has returned. A crash between the effect and the record repeats the effect: pass the event's
// id (Meta(ctx).ID) to the other service as its idempotency key.
func HandleOutside[Tx any, E Event](a *App[Tx], group string, fn func(ctx context.Context, e E) error, options ...func(*bus.Consumer)) {
	handleEach(a, group, fn == nil, options, func() (handler[E], error) {
		leases, err := a.leasesOf(group)
		return func(ctx context.Context, e event.Event, data E) error {
			_, _, err := leases.Do(ctx, e, func(ctx context.Context, _ idempotency.Claim) ([]byte, error) { return nil, fn(ctx, data) })
			return err
		}, err
	})
}

// handler handles one event, decoded as E.
type handler[E Event] func(ctx context.Context, e event.Event, data E) error

// handleEach registers the handler that guarded returns.
func handleEach[Tx any, E Event](a *App[Tx], group string, none bool, options []func(*bus.Consumer), guarded func() (handler[E], error)) {
	a.register(func() error {
		spec, err := specOf[E](none)
		if err != nil {
			return err
		}
		handle, err := guarded()
		if err != nil {
			return err
		}
		return a.handle(group, spec, options, func(ctx context.Context, e event.Event) error {
			data, err := decode[E](e)
			if err != nil {
				return err
			}
			return handle(ctx, e, data)
		})
	})
}

// HandleBatch is Handle for many events of one type at a time, for work that costs little more
// for a hundred events than for one. fn gets the new events, in the order of each key; all of
// them commit in one transaction, or none. The group cannot handle other types of the topic.
// Options set Size and Wait, for example.
func HandleBatch[Tx any, E Event](a *App[Tx], group string, fn func(ctx context.Context, tx Tx, events []E) error, options ...func(*bus.BatchConsumer)) {
	a.register(func() error {
		spec, err := specOf[E](fn == nil)
		if err != nil {
			return err
		}
		guard, err := a.guard(group)
		if err != nil {
			return err
		}
		if c := a.find(group, spec.Topic); c != nil {
			return fmt.Errorf("group %q handles topic %q already; a batch handler has its group and topic for itself: give it a group of its own", group, spec.Topic)
		}
		b := &bus.BatchConsumer{Classifiers: []fault.Classifier{a.stores.Classify}}
		for _, option := range options {
			option(b)
		}
		b.Topic, b.Group, b.Handler = spec.Topic, group, nil
		b.Guarded = guard.HandleBatch(func(ctx context.Context, tx Tx, fresh []event.Event) error {
			all := make([]E, len(fresh))
			for i, e := range fresh {
				var err error
				if all[i], err = decode[E](e); err != nil {
					return err
				}
			}
			return fn(ctx, tx, all)
		}, spec.Type)
		a.consumers = append(a.consumers, &consumer[Tx]{topic: spec.Topic, group: group, batch: b})
		return nil
	})
}

// handle adds a handler of one type to the consumer of its group and topic.
func (a *App[Tx]) handle(group string, spec Spec, options []func(*bus.Consumer), fn bus.EventHandler) error {
	c := a.find(group, spec.Topic)
	switch {
	case c == nil:
		c = &consumer[Tx]{topic: spec.Topic, group: group, handlers: map[string]bus.EventHandler{},
			one: bus.Consumer{Classifiers: []fault.Classifier{a.stores.Classify}}}
		a.consumers = append(a.consumers, c)
	case c.batch != nil:
		return fmt.Errorf("group %q handles topic %q in batches; give the handler of %s a group of its own", group, spec.Topic, spec.Type)
	case c.handlers[spec.Type] != nil:
		return fmt.Errorf("group %q handles %s of topic %q twice; the second handler needs a group of its own", group, spec.Type, spec.Topic)
	}
	c.handlers[spec.Type] = fn
	for _, option := range options {
		option(&c.one)
	}
	return nil
}

// register runs one registration and keeps its error for Run.
func (a *App[Tx]) register(fn func() error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state != fresh {
		cmp.Or(a.cfg.Logger, slog.Default()).Error("millrace: a handler was registered after Run had begun; it handles nothing")
		return
	}
	if err := fn(); err != nil {
		a.problems = append(a.problems, fmt.Errorf("millrace: handler: %w", err))
	}
}

func (a *App[Tx]) find(group, topic string) *consumer[Tx] {
	i := slices.IndexFunc(a.consumers, func(c *consumer[Tx]) bool { return c.group == group && c.topic == topic })
	if i < 0 {
		return nil
	}
	return a.consumers[i]
}

func (a *App[Tx]) guard(group string) (*idempotency.Guard[Tx], error) {
	if g := a.guards[group]; g != nil {
		return g, nil
	}
	g, err := idempotency.New[Tx](a.stores.Keys, idempotency.Config{Group: group})
	if err == nil {
		a.guards[group] = g
	}
	return g, err
}

func (a *App[Tx]) leasesOf(group string) (*idempotency.Leases, error) {
	if l := a.leases[group]; l != nil {
		return l, nil
	}
	l, err := idempotency.NewLeases(a.stores.Leases, idempotency.LeaseConfig{Group: group, Logger: a.cfg.Logger})
	if err == nil {
		a.leases[group] = l
	}
	return l, err
}

// specOf returns the Spec of the zero value of E.
func specOf[E Event](noHandler bool) (spec Spec, err error) {
	var zero E
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("%T.Spec fails on the zero value, which says the topic and the type; declare Spec on the value type and let it only read fields", zero)
		}
	}()
	if any(zero) == nil {
		return Spec{}, errors.New("the handler's event is an interface; name a type that has Spec")
	}
	spec = zero.Spec()
	if noHandler {
		return spec, fmt.Errorf("the handler of %T is nil", zero)
	}
	return spec, spec.validate(zero)
}
