package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/eventlog"
	"github.com/millrace-go/millrace/fault"
)

// middleware is the outermost of the Router's handler: it runs an attempt and
// decides what becomes of the message. It never returns an error; a nack goes
// to the dispatcher with a verdict.
func (c *consumer) middleware(next message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		c.atWork.Add(1)
		d := deliveryOf(msg.Context())
		if d.letter != nil {
			c.bury(d, msg)
			return nil, nil
		}
		c.trace(d, msg)
		guard(func() error {
			if err := c.skips(msg); err != nil {
				return err
			}
			return c.timed(1, func() error {
				return c.bounded(msg.Context(), func(ctx context.Context) error { return call(ctx, next, msg) }, eventlog.Message(d.source))
			})
		}, func(err error) {
			switch {
			case err == nil && d.ignored != "":
				c.ignore(d, msg)
				c.ack(d, msg, outcomeIgnored)
			case err == nil:
				c.succeeded(d, msg)
			case errors.Is(err, errObsolete):
				c.ack(d, msg, outcomeObsolete)
			default:
				c.failed(d, msg, err)
			}
		})
		return nil, nil
	}
}

func (c *consumer) succeeded(d *delivery, msg *message.Message) {
	c.recovered(d, msg)
	c.ack(d, msg, outcomeHandled)
}

// recovered counts a message that was handled, and tells of one that had failed.
func (c *consumer) recovered(d *delivery, msg *message.Message) {
	c.handled.Add(1)
	if f := c.Hooks.OnRecovered; f != nil && d.attempts+d.pauses > 0 {
		f(Recovery{Topic: c.Topic, Group: c.Group, Message: msg.CopyWithContext(), Attempts: d.attempts + d.pauses + 1})
	}
}

func (c *consumer) failed(d *delivery, msg *message.Message, err error) {
	// The message is no longer ours, or the handler gave up because the process
	// is stopping: neither says anything about the message.
	if msg.Context().Err() != nil || d.stopping() && errors.Is(err, context.Canceled) {
		c.nack(d, msg, handBack, err)
		return
	}
	class := c.classOf(d, err)
	d.failing(err, class)
	switch v := c.judge(d, err, class, d.held()); v {
	case retryLater:
		c.retrying(d, msg, err)
		c.nack(d, msg, v, err)
	case done:
		d.letter, d.letterInfo = c.deadLetter(d, err, class)
		c.bury(d, msg)
	default:
		c.nack(d, msg, v, err)
	}
}

// classOf is the class of a failure. One for a dependency is transient where the message
// is condemned.
func (c *consumer) classOf(d *delivery, err error) fault.Class {
	class := fault.Of(err, c.Classifiers...)
	if class == fault.Infrastructure && d.condemned {
		class = fault.Transient
	}
	return class
}

// judge notes a failure of one message and says what becomes of it; done means
// a dead letter.
func (c *consumer) judge(d *delivery, err error, class fault.Class, held bool) verdict {
	now := time.Now()
	if d.firstFailure.IsZero() {
		d.firstFailure = now
	}
	d.lastFailure = now
	c.note(err)

	switch {
	case class == fault.Infrastructure:
		d.pauses++
		return pauseAll
	case held:
		// A dependency went down while this handler ran. Whether its failure is
		// its own shows when everything works again.
		return afterPause
	case class == fault.Transient && d.attempts < c.retry.MaxRetries:
		d.attempts++
		d.delay = c.retry.Backoff.Delay(d.attempts)
		return retryLater
	default:
		d.attempts++
		return done
	}
}

// retrying tells of a failed attempt that will be followed by another.
func (c *consumer) retrying(d *delivery, msg *message.Message, err error) {
	c.retried.Add(1)
	c.log.WarnContext(msg.Context(), "message failed, will be retried",
		eventlog.Message(d.source), "attempt", d.attempts, "delay", d.delay, "error", err)
	if f := c.Hooks.OnRetry; f != nil {
		f(Retry{
			Topic: c.Topic, Group: c.Group, Message: msg.CopyWithContext(),
			Err: err, Class: fault.Transient, Attempt: d.attempts, Delay: d.delay,
		})
	}
}

// bury publishes the dead letter of d. If that fails, the consumer pauses and the
// message waits until it works: the handler is not run again for it.
func (c *consumer) bury(d *delivery, msg *message.Message) {
	d.letter.SetContext(msg.Context())
	if err := c.publishLetter(d.letter); err != nil {
		if msg.Context().Err() != nil {
			c.nack(d, msg, handBack, err)
			return
		}
		err = fmt.Errorf("dead letter of %s: %w", msg.UUID, err)
		c.note(err)
		d.pauses++
		c.nack(d, msg, pauseAll, err)
		return
	}
	c.buried(d)
	c.ack(d, msg, outcomeDeadLetter)
}

// buried tells of a dead letter that was published.
func (c *consumer) buried(d *delivery) {
	c.deadLettered.Add(1)
	info := d.letterInfo
	c.log.ErrorContext(d.letter.Context(), "message became a dead letter",
		eventlog.Message(d.source), "to", info.To, "reason", info.Reason, "class", info.Class.String(),
		"attempts", info.Attempts, "error", info.Err)
	if f := c.Hooks.OnDeadLetter; f != nil {
		info.Message = d.letter.CopyWithContext()
		f(info)
	}
}

// ack and nack end an attempt. The message and its delivery belong to the
// subscription again when they return.
func (c *consumer) ack(d *delivery, msg *message.Message, outcome string) {
	d.finish(outcome)
	c.atWork.Add(-1)
	msg.Ack()
}

func (c *consumer) nack(d *delivery, msg *message.Message, v verdict, err error) {
	d.finish(outcomeOf(v))
	c.atWork.Add(-1)
	d.verdict, d.err = v, err
	msg.Nack()
}

func (c *consumer) note(err error) {
	c.mu.Lock()
	c.lastError = err.Error()
	c.mu.Unlock()
}
