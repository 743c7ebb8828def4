package idempotency

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// ErrProduced is returned by a guarded Watermill handler that returned messages
// for its router to publish. The router would do that after the commit, so a
// crash in between would lose them for good: the redelivery is a duplicate.
var ErrProduced = errors.New("idempotency: the handler returned messages, which a crash after the commit would lose; append them to an outbox in its transaction")

// Middleware guards a Watermill handler. It decodes the event, and while the
// handler runs msg.Context() carries the store's transaction (sqltx.From) and
// the event ([EventFrom]); afterwards the message has its own context again. A
// duplicate is acknowledged without work. A message that is no event is refused
// with the decoder's permanent error.
//
// Put it inside retries and time limits, so that each attempt is a transaction
// of its own.
func (g *Guard) Middleware(h message.HandlerFunc) message.HandlerFunc {
	decode := event.Decode
	if g.cfg.Codec != nil {
		decode = g.cfg.Codec.Decode
	}
	return func(msg *message.Message) ([]*message.Message, error) {
		e, err := decode(msg)
		if err != nil {
			return nil, err
		}
		outer := msg.Context()
		// Also when the handler panics: whoever recovers it goes on to use the
		// message, and must not find a transaction that has ended.
		defer msg.SetContext(outer)
		_, err = g.Do(outer, e, func(ctx context.Context) error {
			msg.SetContext(ctx)
			produced, err := h(msg)
			if err == nil && len(produced) > 0 {
				return fault.MarkPermanent(ErrProduced)
			}
			return err
		})
		return nil, err
	}
}
