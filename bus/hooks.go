package bus

import (
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/fault"
)

// Hooks report the events of a consumer, for metrics, alerts and tests. Each may be nil. They
// are called synchronously, so a slow hook slows its consumer; they must not panic. Their
// messages are copies: Ack and Nack on them have no effect.
type Hooks struct {
	OnRetry      func(Retry)      // an attempt failed and another will follow
	OnRecovered  func(Recovery)   // a message that had failed before was handled
	OnDeadLetter func(DeadLetter) // a dead letter was published
	OnPause      func(Pause)      // a dependency is down; nothing is handed out but probes
	OnResume     func(Resume)     // a probe succeeded
	OnObsolete   func(Obsolete)   // an event was skipped because there is a newer one
	OnIgnored    func(Ignored)    // an event was acknowledged because its type has no handler
	OnHandled    func(Handling)   // a handler ran, with any result
}

// and makes hooks that call both, h first.
func (h Hooks) and(then Hooks) Hooks {
	return Hooks{
		OnRetry: both(h.OnRetry, then.OnRetry), OnRecovered: both(h.OnRecovered, then.OnRecovered),
		OnDeadLetter: both(h.OnDeadLetter, then.OnDeadLetter), OnPause: both(h.OnPause, then.OnPause),
		OnResume: both(h.OnResume, then.OnResume), OnObsolete: both(h.OnObsolete, then.OnObsolete),
		OnIgnored: both(h.OnIgnored, then.OnIgnored), OnHandled: both(h.OnHandled, then.OnHandled),
	}
}

func both[T any](first, then func(T)) func(T) {
	switch {
	case first == nil:
		return then
	case then == nil:
		return first
	}
	return func(what T) {
		first(what)
		then(what)
	}
}

// Handling describes one run of a handler: one message, or one batch.
type Handling struct {
	Topic, Group string
	Messages     int // of the batch; 1 for a consumer without batches
	Took         time.Duration
	Err          error // the handler's result; a *[BatchError] if a part of the batch failed
	Panicked     bool  // the handler did not return; Err is nil
}

// timed runs a handler for this number of messages and reports the time it took.
func (c *consumer) timed(messages int, run func() error) error {
	tell := c.Hooks.OnHandled
	if tell == nil {
		return run()
	}
	h := Handling{Topic: c.Topic, Group: c.Group, Messages: messages, Panicked: true}
	began := time.Now()
	defer func() {
		h.Took = time.Since(began)
		tell(h)
	}()
	h.Err = run()
	h.Panicked = false
	return h.Err
}

// Retry describes a failed attempt that will be followed by another.
type Retry struct {
	Topic, Group string
	Message      *message.Message
	Err          error
	Class        fault.Class   // Transient, Infrastructure for a failed probe, or Busy
	Attempt      int           // the attempt that failed, from 1; probes and Busy attempts do not count
	Delay        time.Duration // until the next attempt
}

// Recovery describes a message that was handled after it had failed.
type Recovery struct {
	Topic, Group string
	Message      *message.Message
	Attempts     int // attempts in all, the successful one included
}

// DeadLetter describes a dead letter that was published.
type DeadLetter struct {
	Topic, Group string
	To           string           // the dead letter topic
	Message      *message.Message // as it was published, dlq_* metadata included
	Err          error            // the last failure
	Class        fault.Class
	Reason       string
	Attempts     int
}

// Pause describes the start of a pause.
type Pause struct {
	Topic, Group string
	Err          error
	Delay        time.Duration // until the first probe
}

// Resume describes the end of a pause.
type Resume struct {
	Topic, Group string
	After        time.Duration // how long the pause lasted
}

// Obsolete describes an event that was acknowledged without being handled.
type Obsolete struct {
	Topic, Group string
	Message      *message.Message
	Sequence     uint64 // the event's own
	Current      uint64 // the newest sequence of the key
}

// Ignored describes an event that was acknowledged because the consumer has no
// handler for its type.
type Ignored struct {
	Topic, Group string
	Message      *message.Message
	Type         string // of the event
}
