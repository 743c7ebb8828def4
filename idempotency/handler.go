package idempotency

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
)

// Handler is a handler wrapped in its guard: the Guarded of a bus.Consumer or bus.BatchConsumer.
// The consumer is refused if its group is not the guard's.
type Handler struct {
	group  string
	types  map[string]bool // nil for all
	one    func(ctx context.Context, e event.Event) error
	many   func(ctx context.Context, events []event.Event) error
	decode func(msg *message.Message) (event.Event, error)
}

// Handle wraps fn in the guard: fn gets every event once, with the transaction that records the
// key. A duplicate is acknowledged without work. fn can run more than once for one event; see
// [Guard.Do].
func (g *Guard[Tx]) Handle(fn func(ctx context.Context, tx Tx, e event.Event) error) *Handler {
	h := g.handler()
	h.one = func(ctx context.Context, e event.Event) error {
		_, err := g.Do(ctx, e, func(ctx context.Context, tx Tx) error { return fn(ctx, tx, e) })
		return err
	}
	h.many = func(ctx context.Context, events []event.Event) error {
		for _, e := range events {
			if err := h.HandleEvent(ctx, e); err != nil {
				return err
			}
		}
		return nil
	}
	return h
}

// ByType is Handle with one function for each type of event. Events of other types are
// acknowledged, and no key is recorded for them.
func (g *Guard[Tx]) ByType(handlers map[string]func(ctx context.Context, tx Tx, e event.Event) error) *Handler {
	handlers = maps.Clone(handlers)
	h := g.Handle(func(ctx context.Context, tx Tx, e event.Event) error { return handlers[e.Type](ctx, tx, e) })
	h.types = setOf(maps.Keys(handlers))
	return h
}

// HandleBatch wraps fn in the guard: fn gets the new events of a batch, of the given types or
// of all types; see [Guard.DoBatch]. If no event of the batch is new, fn does not run.
func (g *Guard[Tx]) HandleBatch(fn func(ctx context.Context, tx Tx, fresh []event.Event) error, types ...string) *Handler {
	h := g.handler()
	h.many = func(ctx context.Context, events []event.Event) error {
		_, err := g.DoBatch(ctx, events, fn)
		return err
	}
	h.one = func(ctx context.Context, e event.Event) error { return h.many(ctx, []event.Event{e}) }
	if len(types) > 0 {
		h.types = setOf(slices.Values(types))
	}
	return h
}

func (g *Guard[Tx]) handler() *Handler {
	return &Handler{group: g.cfg.Group, decode: g.cfg.Decode}
}

func setOf(types iter.Seq[string]) map[string]bool {
	set := map[string]bool{}
	for name := range types {
		set[name] = true
	}
	return set
}

// Group is the consumer group of the guard.
func (h *Handler) Group() string { return h.group }

// Handles reports whether events of the type have a handler.
func (h *Handler) Handles(eventType string) bool { return h.types == nil || h.types[eventType] }

// HandleEvent handles one event: as a batch of one, if the handler is for batches. An event
// that Handles refuses is acknowledged.
func (h *Handler) HandleEvent(ctx context.Context, e event.Event) error {
	if !h.Handles(e.Type) {
		return nil
	}
	return h.one(ctx, e)
}

// HandleEvents handles events that Handles reports: all in one transaction, or one after the
// other, up to the first that fails, if the handler is for single events.
func (h *Handler) HandleEvents(ctx context.Context, events []event.Event) error {
	return h.many(ctx, events)
}

// HandleMessage is a handler for Watermill's own Router: it decodes the message with
// Config.Decode, whose error for a message that is not an event it returns.
// Put HandleMessage inside retries and time limits, so that each attempt has its own
// transaction.
func (h *Handler) HandleMessage(msg *message.Message) error {
	e, err := h.decode(msg)
	if err != nil {
		return err
	}
	return h.HandleEvent(msg.Context(), e)
}
