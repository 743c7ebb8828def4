package bus

import (
	"context"
	"maps"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// EventHandler handles one decoded event. Its context ends when this consumer does not
// hold the message any more. The class of the returned error, see package fault, decides what happens to the
// message.
type EventHandler = func(ctx context.Context, e event.Event) error

// Handle makes a Watermill handler that decodes the event of a message, in either encoding, and
// calls fn with it. A message that is not an event fails permanently, so it becomes a dead
// letter at once.
func Handle(fn EventHandler) message.NoPublishHandlerFunc {
	return func(msg *message.Message) error {
		e, err := event.Decode(msg)
		if err != nil {
			return fault.MarkPermanent(err)
		}
		return fn(passOn(event.NewContext(msg.Context(), e), e), e)
	}
}

// ByType calls the handler of the event's type. An event of any other type is acknowledged: a
// topic may carry types that this group does not need. A [Runner] counts it as ignored and logs
// each such type once, since the type may also be misspelt in handlers.
func ByType(handlers map[string]EventHandler) message.NoPublishHandlerFunc {
	handlers = maps.Clone(handlers)
	return onlyTypes(func(t string) bool { return handlers[t] != nil }, func(ctx context.Context, e event.Event) error {
		return handlers[e.Type](ctx, e)
	})
}

// onlyTypes is Handle for the types that have a handler.
func onlyTypes(handles func(eventType string) bool, fn EventHandler) message.NoPublishHandlerFunc {
	return Handle(func(ctx context.Context, e event.Event) error {
		if !handles(e.Type) {
			ignore(ctx, e)
			return nil
		}
		return fn(ctx, e)
	})
}
