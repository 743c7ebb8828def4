package wmsource

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
)

// delivery is a message of a Watermill subscriber.
type delivery struct {
	message *message.Message
	source  *source
	ctx     context.Context // see Context; nil before the first call
	release func()
}

// Message implements [driver.Delivery].
func (d *delivery) Message() driver.Message {
	return driver.Message{ID: d.message.UUID, Metadata: d.message.Metadata, Payload: d.message.Payload}
}

// Context implements [driver.Delivery]. The message's own context ends with the subscription as
// well, which is not a revocation.
func (d *delivery) Context() context.Context {
	if d.ctx != nil {
		return d.ctx
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(d.message.Context()))
	revoke := func() {
		if !d.source.closing.Load() {
			cancel(driver.ErrRevoked)
		}
	}
	stop := func() bool { return true }
	if d.message.Context().Err() != nil {
		revoke()
	} else {
		stop = context.AfterFunc(d.message.Context(), revoke)
	}
	d.ctx, d.release = ctx, func() {
		stop()
		cancel(nil)
	}
	return ctx
}

// Done implements [driver.Delivery].
func (d *delivery) Done() {
	// A message with the subscription's own context gives no sign of its own.
	if ctx := d.message.Context(); d.message.Ack() && ctx.Done() != d.source.ctx.Done() {
		d.source.acks.add(ctx)
	}
	d.settled()
}

// Back implements [driver.Delivery].
func (d *delivery) Back() {
	d.message.Nack()
	d.settled()
}

func (d *delivery) settled() {
	if d.release != nil {
		d.release()
	}
}
