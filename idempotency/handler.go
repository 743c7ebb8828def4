package idempotency

import (
	"context"
	"maps"
	"slices"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
)

// EventHandler handles one event in the transaction tx. It can run more than once for one
// event; see [Guard.Do].
type EventHandler[Tx any] = func(ctx context.Context, tx Tx, e event.Event) error

// Handler is an event handler wrapped in its guard: the Guarded of a bus.Consumer. The consumer
// is refused if its group is not the guard's.
type Handler struct {
	group   string
	types   map[string]bool // nil for all
	handle  func(ctx context.Context, e event.Event) error
	decoder func(msg *message.Message) (event.Event, error)
}

// Handle wraps fn in the guard: fn gets every event once, with the transaction that records the
// key. A duplicate is acknowledged without work.
func (g *Guard[Tx]) Handle(fn EventHandler[Tx]) *Handler {
	h := &Handler{group: g.cfg.Group, decoder: event.Decode, handle: func(ctx context.Context, e event.Event) error {
		_, err := g.Do(ctx, e, func(ctx context.Context, tx Tx) error { return fn(ctx, tx, e) })
		return err
	}}
	if g.cfg.Codec != nil {
		h.decoder = g.cfg.Codec.Decode
	}
	return h
}

// ByType is Handle with one function for each type of event. Events of other types are
// acknowledged, and no key is recorded for them.
func (g *Guard[Tx]) ByType(handlers map[string]EventHandler[Tx]) *Handler {
	handlers = maps.Clone(handlers)
	h := g.Handle(func(ctx context.Context, tx Tx, e event.Event) error { return handlers[e.Type](ctx, tx, e) })
	h.types = make(map[string]bool, len(handlers))
	for name := range handlers {
		h.types[name] = true
	}
	return h
}

// Group is the consumer group of the guard.
func (h *Handler) Group() string { return h.group }

// Handles reports whether events of the type have a handler.
func (h *Handler) Handles(eventType string) bool { return h.types == nil || h.types[eventType] }

// HandleEvent handles one event.
func (h *Handler) HandleEvent(ctx context.Context, e event.Event) error {
	if !h.Handles(e.Type) {
		return nil
	}
	return h.handle(ctx, e)
}

// HandleMessage is a handler for Watermill's own Router: it decodes the message with
// Config.Codec. A message that is not an event is refused with the decoder's permanent error.
// Put HandleMessage inside retries and time limits, so that each attempt has its own
// transaction.
func (h *Handler) HandleMessage(msg *message.Message) error {
	e, err := h.decoder(msg)
	if err != nil {
		return err
	}
	return h.HandleEvent(msg.Context(), e)
}

// BatchHandler is a handler of many events wrapped in its guard: the Guarded of a
// bus.BatchConsumer.
type BatchHandler struct {
	group  string
	types  []string // nil for all
	handle func(ctx context.Context, events []event.Event) error
}

// HandleBatch wraps fn in the guard: fn gets the new events of a batch, of the given types or
// of all types; see [Guard.DoBatch]. If no event of the batch is new, fn does not run.
func (g *Guard[Tx]) HandleBatch(fn func(ctx context.Context, tx Tx, fresh []event.Event) error, types ...string) *BatchHandler {
	return &BatchHandler{group: g.cfg.Group, types: slices.Clone(types), handle: func(ctx context.Context, events []event.Event) error {
		_, err := g.DoBatch(ctx, events, fn)
		return err
	}}
}

// Group is the consumer group of the guard.
func (h *BatchHandler) Group() string { return h.group }

// Handles reports whether events of the type have a handler.
func (h *BatchHandler) Handles(eventType string) bool {
	return len(h.types) == 0 || slices.Contains(h.types, eventType)
}

// HandleEvents handles events of the handler's types.
func (h *BatchHandler) HandleEvents(ctx context.Context, events []event.Event) error {
	return h.handle(ctx, events)
}
