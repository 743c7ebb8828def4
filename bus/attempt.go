package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/eventlog"
	"github.com/millrace-go/millrace/fault"
)

// run runs an attempt and gives the message its verdict.
func (c *consumer) run(d *delivery) {
	c.atWork.Add(1)
	msg := d.offer()
	if d.letter != nil {
		c.bury(msg.Context(), d)
		return
	}
	ctx := c.trace(d, msg)
	c.guard(func() error {
		if err := c.skips(msg); err != nil {
			return err
		}
		return c.alone(ctx, d, func() error {
			return c.timed(1, func() error {
				return c.bounded(ctx, func(ctx context.Context) error { return call(ctx, c.chain, msg) }, d.attrs)
			})
		})
	}, func(err error) {
		switch {
		case err == nil && d.ignored != "":
			c.ignore(ctx, d)
			c.end(d, done, outcomeIgnored, nil)
		case err == nil:
			c.recovered(ctx, d)
			c.end(d, done, outcomeHandled, nil)
		case errors.Is(err, errObsolete):
			d.obsolete = true
			c.end(d, done, outcomeObsolete, nil)
		default:
			c.failed(ctx, d, err)
		}
	})
}

// recovered counts a handled message, and calls OnRecovered if it had failed before.
func (c *consumer) recovered(ctx context.Context, d *delivery) {
	c.handled.Add(1)
	if f := c.Hooks.OnRecovered; f != nil && d.attempts+d.pauses > 0 {
		f(Report{Topic: c.Topic, Group: c.Group, Message: d.shown(ctx), Attempts: d.attempts + d.pauses + 1})
	}
}

func (c *consumer) failed(ctx context.Context, d *delivery, err error) {
	// The message was revoked, or the handler stopped because the process is stopping: neither
	// says anything about the message.
	if ctx.Err() != nil || d.stopping() && errors.Is(err, context.Canceled) {
		c.end(d, handBack, outcomeOf(handBack), err)
		return
	}
	class := c.classOf(d, err)
	d.failing(err, class)
	switch v := c.judge(d, err, class, c.paused.Load() && !d.probe); v {
	case retryLater:
		c.retrying(ctx, d, err, class)
		c.end(d, v, outcomeOf(v), err)
	case done:
		d.letter, d.letterInfo = c.deadLetter(d, err, class)
		c.bury(ctx, d)
	default:
		c.end(d, v, outcomeOf(v), err)
	}
}

// classOf returns the class of a failure. An infrastructure failure of a condemned message is
// transient.
func (c *consumer) classOf(d *delivery, err error) fault.Class {
	class := fault.Of(err, c.Classifiers...)
	if class == fault.Infrastructure && d.condemned {
		class = fault.Transient
	}
	return class
}

// leastWait is the shortest time that a message waits for another worker.
const leastWait = 10 * time.Millisecond

// judge records a failure of one message and returns the verdict; done means a dead letter. held
// reports whether the consumer is paused and this was not its probe.
func (c *consumer) judge(d *delivery, err error, class fault.Class, held bool) verdict {
	if class == fault.Busy { // nothing has failed
		d.pauses++
		d.delay = c.retry.Probe.Delay(d.pauses)
		if wait := fault.Wait(err); wait > 0 {
			d.delay = min(d.delay, max(wait, leastWait))
		}
		return retryLater
	}
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
		// A dependency went down while this handler ran. The next attempt, after the pause,
		// shows whether the message itself is at fault.
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

// retrying reports a failed attempt that will be followed by another.
func (c *consumer) retrying(ctx context.Context, d *delivery, err error, class fault.Class) {
	c.retried.Add(1)
	if class == fault.Busy {
		c.log.InfoContext(ctx, "message waits, another worker is at it", eventlog.Message(d.source), "next_in", d.delay, "error", err)
	} else {
		c.log.WarnContext(ctx, "message failed, will be retried",
			eventlog.Message(d.source), "attempt", d.attempts, "delay", d.delay, "error", err)
	}
	if f := c.Hooks.OnRetry; f != nil {
		f(Report{
			Topic: c.Topic, Group: c.Group, Message: d.shown(ctx),
			Err: err, Class: class, Attempts: d.attempts, Delay: d.delay,
		})
	}
}

// bury publishes the dead letter of d. If publishing fails, the consumer pauses, and the message
// waits until it succeeds: the handler is not run again.
func (c *consumer) bury(ctx context.Context, d *delivery) {
	d.letter.SetContext(ctx)
	v, err := c.buried(ctx, d, c.publishLetter(d.letter))
	c.end(d, v, outcomeOf(v), err)
}

// buried returns the verdict for a message whose dead letter was published, or could not be. It
// reports a published one.
func (c *consumer) buried(ctx context.Context, d *delivery, err error) (verdict, error) {
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return handBack, err
	default:
		err = fmt.Errorf("dead letter of %s: %w", d.source.UUID, err)
		c.note(err)
		d.pauses++
		return pauseAll, err
	}
	c.deadLettered.Add(1)
	info := d.letterInfo
	c.log.ErrorContext(d.letter.Context(), "message became a dead letter",
		eventlog.Message(d.source), "to", info.DeadLetterTopic, "reason", info.Reason, "class", info.Class.String(),
		"attempts", info.Attempts, "error", info.Err)
	if f := c.Hooks.OnDeadLetter; f != nil {
		info.Message = d.letter.CopyWithContext()
		f(info)
	}
	return done, nil
}

// end ends an attempt.
func (c *consumer) end(d *delivery, v verdict, outcome string, err error) {
	d.finish(outcome)
	c.atWork.Add(-1)
	d.verdict, d.err = v, err
}

func (c *consumer) note(err error) {
	c.mu.Lock()
	c.lastError = err.Error()
	c.mu.Unlock()
}
