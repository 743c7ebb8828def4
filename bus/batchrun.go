package bus

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/eventlog"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/consuming"
)

// runAll runs an attempt of a batch and gives every message of it a verdict.
func (c *consumer) runAll(b *batch) {
	c.atWork.Add(1)
	if first := b.deliveries[0]; first.letter != nil { // then it is alone
		c.buryAll(b, []*delivery{first})
		c.atWork.Add(-1)
		return
	}
	messages, release := b.copies()
	ctx := c.traceBatch(b.ctx, b, messages)
	c.guard(func() error {
		return c.alone(ctx, b.deliveries[0], func() error { return c.runBatch(ctx, b, messages) })
	}, func(err error) {
		defer release()
		c.settled(b, messages, err)
		b.finish(c)
		c.atWork.Add(-1)
	})
}

// copies makes the messages for the handler, as delivery.offer does for one message. The
// contexts end with the batch; a message's context also ends when the transport takes the
// message back, and the batch's own when all are taken back.
func (b *batch) copies() (messages []*message.Message, release func()) {
	messages = make([]*message.Message, len(b.deliveries))
	cancels := make([]context.CancelCauseFunc, len(b.deliveries))
	stops := make([]func() bool, 0, len(b.deliveries)+1)
	var left atomic.Int64
	left.Store(int64(len(b.deliveries)))
	for i, d := range b.deliveries {
		d.ignored = ""
		ctx, cancel := context.WithCancelCause(consuming.With(d.from.Context(), d))
		messages[i], cancels[i] = d.copied(), cancel
		messages[i].SetContext(ctx)
		stops = append(stops, context.AfterFunc(d.from.Context(), func() {
			if left.Add(-1) == 0 {
				b.cancel(driver.ErrRevoked)
			}
		}))
	}
	batch := b.ctx // traceBatch replaces the field
	stops = append(stops, context.AfterFunc(batch, func() {
		for _, cancel := range cancels {
			cancel(context.Cause(batch))
		}
	}))
	return messages, func() {
		for _, stop := range stops {
			stop()
		}
		for _, cancel := range cancels {
			cancel(nil)
		}
	}
}

// runBatch skips obsolete messages and calls the handler with the rest.
func (c *consumer) runBatch(ctx context.Context, b *batch, messages []*message.Message) error {
	if c.Current == nil {
		c.batches.Add(1)
		// A handler may change its slice; the verdicts use ours.
		return c.timed(len(messages), func() error { return c.callBatch(ctx, slices.Clone(messages)) })
	}
	if err := c.findObsolete(ctx, b, messages); err != nil {
		return err
	}
	var todo []*message.Message
	var indexes []int
	for i, m := range messages {
		if !b.deliveries[i].obsolete {
			todo, indexes = append(todo, m), append(indexes, i)
		}
	}
	if len(todo) == 0 {
		return nil
	}
	c.batches.Add(1)
	err := c.timed(len(todo), func() error { return c.callBatch(ctx, todo) })
	return translated(err, indexes, BatchError{})
}

func (c *consumer) callBatch(ctx context.Context, messages []*message.Message) error {
	handle := func(ctx context.Context) error { return c.handleBatch(ctx, messages) }
	return c.bounded(ctx, handle, func() []any { return []any{"messages", len(messages), eventlog.Message(messages[0])} })
}

// settled gives every delivery of the batch its verdict.
func (c *consumer) settled(b *batch, messages []*message.Message, err error) {
	some, err := split(err, len(b.deliveries))
	held := c.paused.Load() && !b.probe
	given := 0
	for _, d := range b.deliveries {
		if !d.obsolete {
			given++
		}
	}
	var letters []*delivery
	for i, d := range b.deliveries {
		d.verdict, d.err, d.delay = done, nil, 0
		one, of := err, given
		if some != nil {
			one, of = some[i], 1
			var whole wholeError
			if errors.As(one, &whole) {
				of = whole.of
			}
		}
		switch {
		case d.obsolete:
		case one == nil && d.ignored != "":
			c.ignore(messages[i].Context(), d)
		case one == nil:
			c.recovered(messages[i].Context(), d)
		case errors.Is(one, ErrHeldBack):
			d.verdict, d.err = redeliver, one
		case b.ctx.Err() != nil || messages[i].Context().Err() != nil || b.sub.stopping.Load() && errors.Is(one, context.Canceled):
			d.verdict, d.err = handBack, one
		default:
			class := c.classOf(d, one)
			d.err = one
			if d.verdict = c.judgeOf(d, one, class, held, of); d.verdict == done {
				d.letter, d.letterInfo = c.deadLetter(d, one, class)
				letters = append(letters, d)
			} else if d.verdict == retryLater && d.delay > 0 {
				c.retrying(messages[i].Context(), d, one, class)
			}
		}
	}
	c.buryAll(b, letters)
}

// judgeOf judges a failure that a message shares with others. The message at fault shows when
// each is tried alone.
func (c *consumer) judgeOf(d *delivery, err error, class fault.Class, held bool, of int) verdict {
	if of == 1 || held || class == fault.Infrastructure {
		return c.judge(d, err, class, held)
	}
	d.alone = true
	if class == fault.Transient && d.attempts < c.retry.MaxRetries {
		return c.judge(d, err, class, held)
	}
	c.note(err)
	return retryLater // at once
}

// buryAll publishes dead letters together. If publishing fails, the consumer pauses and the dead
// letters wait until it succeeds: the handler is not run again for them.
func (c *consumer) buryAll(b *batch, dead []*delivery) {
	if len(dead) == 0 {
		return
	}
	letters := make([]*message.Message, len(dead))
	for i, d := range dead {
		d.letter.SetContext(b.ctx)
		// A publisher may change the messages, and this letter may be published again.
		letters[i] = d.letter.CopyWithContext()
	}
	all := c.publisher.Publish(c.deadLetterTopic, letters...)
	var known *PublishError
	errors.As(all, &known)
	for i, d := range dead {
		err := all
		switch {
		case known != nil && known.Published(i):
			err = nil
		case fault.Of(all) == fault.Permanent: // one of them is refused
			err = c.publishLetter(d.letter)
		}
		if d.verdict, err = c.buried(b.ctx, d, err); err != nil {
			d.err = err // of a letter that was published, it is the failure of the message
		}
	}
}
