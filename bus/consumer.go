package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/fault"
)

// Consumer is a topic, a group, a handler and a policy. Only Topic, Group and
// Handler are required.
type Consumer struct {
	Topic   string
	Group   string
	Handler message.NoPublishHandlerFunc // see [Handle] and [ByType]

	// Middleware wraps Handler, the first outermost. It runs anew for every
	// attempt; retry, recovery and dead letters lie outside it.
	Middleware []message.HandlerMiddleware
	// Concurrency is how many keys are handled in parallel; 8 by default.
	Concurrency int
	// Window is how many messages are held unacknowledged; see [SubscriberConfig].
	Window int
	// Retry is [DefaultRetry] when zero.
	Retry RetryPolicy
	// DeadLetter is [DLT] when nil.
	DeadLetter DeadLetterPolicy
	// Classifiers judge errors that carry no class, usually a database driver's.
	Classifiers []fault.Classifier
	Hooks       Hooks
}

func (c Consumer) validate() error {
	switch {
	case c.Topic == "":
		return errors.New("bus: consumer: Topic is empty")
	case c.Group == "":
		return fmt.Errorf("bus: consumer of %s: Group is empty; name the consumer group", c.Topic)
	case c.Handler == nil:
		return fmt.Errorf("bus: consumer %s of %s: Handler is nil; use bus.Handle or bus.ByType", c.Group, c.Topic)
	}
	if c.DeadLetter != nil {
		switch c.DeadLetter(c.Topic, c.Group) {
		case "":
			return fmt.Errorf("bus: consumer %s of %s: DeadLetter names no topic; return one, or leave it nil for %s.DLT", c.Group, c.Topic, c.Topic)
		case c.Topic:
			return fmt.Errorf("bus: consumer %s of %s: DeadLetter names the consumer's own topic; its dead letters would come back for ever", c.Group, c.Topic)
		}
	}
	if err := c.Retry.validate(); err != nil {
		return fmt.Errorf("bus: consumer %s of %s: %w", c.Group, c.Topic, err)
	}
	if err := (SubscriberConfig{Concurrency: c.Concurrency, Window: c.Window}).validate(); err != nil {
		return fmt.Errorf("bus: consumer %s of %s: %w", c.Group, c.Topic, err)
	}
	return nil
}

// consumer is a Consumer inside a Runner.
type consumer struct {
	Consumer
	retry           RetryPolicy
	deadLetterTopic string
	workerID        string
	publisher       message.Publisher
	log             *slog.Logger

	running      atomic.Bool
	paused       atomic.Bool
	inFlight     atomic.Int64 // handed out and not yet settled
	atWork       atomic.Int64 // handlers that have not returned
	handled      atomic.Int64
	retried      atomic.Int64
	deadLettered atomic.Int64

	mu        sync.Mutex
	lastError string
}

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
		call(next, msg, func(err error) {
			if err == nil {
				c.succeeded(d, msg)
				return
			}
			c.failed(d, msg, err)
		})
		return nil, nil
	}
}

func (c *consumer) succeeded(d *delivery, msg *message.Message) {
	c.handled.Add(1)
	if f := c.Hooks.OnRecovered; f != nil && d.attempts+d.pauses > 0 {
		f(Recovery{Topic: c.Topic, Group: c.Group, Message: msg.CopyWithContext(), Attempts: d.attempts + d.pauses + 1})
	}
	c.ack(msg)
}

func (c *consumer) failed(d *delivery, msg *message.Message, err error) {
	// The message is no longer ours, or the handler gave up because the process
	// is stopping: neither says anything about the message.
	if msg.Context().Err() != nil || d.stopping() && errors.Is(err, context.Canceled) {
		c.nack(d, msg, handBack, err)
		return
	}
	class := fault.Of(err, c.Classifiers...)
	now := time.Now()
	if d.firstFailure.IsZero() {
		d.firstFailure = now
	}
	d.lastFailure = now
	c.note(err)

	switch {
	case class == fault.Infrastructure:
		d.pauses++
		c.nack(d, msg, pauseAll, err)
	case d.held():
		// A dependency went down while this handler ran. Whether its failure is
		// its own shows when everything works again.
		c.nack(d, msg, afterPause, err)
	case class == fault.Transient && d.attempts < c.retry.MaxRetries:
		d.attempts++
		c.retryLater(d, msg, err)
	default:
		d.attempts++
		d.letter, d.letterInfo = c.deadLetter(d, err, class)
		c.bury(d, msg)
	}
}

func (c *consumer) retryLater(d *delivery, msg *message.Message, err error) {
	d.delay = c.retry.Backoff.Delay(d.attempts)
	c.retried.Add(1)
	c.log.Warn("message failed, will be retried",
		"message_id", msg.UUID, "attempt", d.attempts, "delay", d.delay, "error", err)
	if f := c.Hooks.OnRetry; f != nil {
		f(Retry{
			Topic: c.Topic, Group: c.Group, Message: msg.CopyWithContext(),
			Err: err, Class: fault.Transient, Attempt: d.attempts, Delay: d.delay,
		})
	}
	c.nack(d, msg, retryLater, err)
}

// bury publishes the dead letter of d. When that fails the message waits, with
// the whole consumer, until it works: the handler is not run again for it.
func (c *consumer) bury(d *delivery, msg *message.Message) {
	d.letter.SetContext(msg.Context())
	// A publisher may change what it publishes, and there may be a next time.
	if err := c.publisher.Publish(c.deadLetterTopic, d.letter.CopyWithContext()); err != nil {
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
	c.deadLettered.Add(1)
	info := d.letterInfo
	c.log.Error("message became a dead letter",
		"message_id", msg.UUID, "to", info.To, "reason", info.Reason, "class", info.Class.String(),
		"attempts", info.Attempts, "error", info.Err)
	if f := c.Hooks.OnDeadLetter; f != nil {
		info.Message = d.letter.CopyWithContext()
		f(info)
	}
	c.ack(msg)
}

// ack and nack end an attempt. The message and its delivery belong to the
// subscription again when they return.
func (c *consumer) ack(msg *message.Message) {
	c.atWork.Add(-1)
	msg.Ack()
}

func (c *consumer) nack(d *delivery, msg *message.Message, v verdict, err error) {
	c.atWork.Add(-1)
	d.verdict, d.err = v, err
	msg.Nack()
}

func (c *consumer) note(err error) {
	c.mu.Lock()
	c.lastError = err.Error()
	c.mu.Unlock()
}

// observer connects the consumer to its subscription. lost has room for every
// consumer.
func (c *consumer) observer(lost chan<- *consumer) observer {
	return observer{
		probe:     c.retry.Probe,
		closeLast: true,
		isPaused:  &c.paused,
		inFlight:  &c.inFlight,
		lost:      func() { lost <- c },
		paused: func(err error, delay time.Duration) {
			c.log.Warn("consumer paused, a dependency is down", "probe_in", delay, "error", err)
			if f := c.Hooks.OnPause; f != nil {
				f(Pause{Topic: c.Topic, Group: c.Group, Err: err, Delay: delay})
			}
		},
		probed: func(d *delivery, err error, delay time.Duration) {
			c.retried.Add(1)
			c.log.Warn("consumer stays paused", "probe_in", delay, "error", err)
			if f := c.Hooks.OnRetry; f != nil {
				f(Retry{
					Topic: c.Topic, Group: c.Group, Message: d.source.Copy(),
					Err: err, Class: fault.Infrastructure, Attempt: d.attempts, Delay: delay,
				})
			}
		},
		resumed: func(after time.Duration) {
			c.log.Info("consumer resumed", "paused_for", after)
			if f := c.Hooks.OnResume; f != nil {
				f(Resume{Topic: c.Topic, Group: c.Group, After: after})
			}
		},
	}
}
