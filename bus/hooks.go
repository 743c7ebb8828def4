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
	// OnRetry: an attempt failed and another will follow, after Delay. Class is Transient,
	// Infrastructure for a failed probe, or Busy. Attempts counts neither probes nor Busy attempts.
	OnRetry func(Report)
	// OnRecovered: a message that had failed before was handled, at the last of Attempts.
	OnRecovered func(Report)
	// OnDeadLetter: a dead letter was published to DeadLetterTopic, for Reason. Message is the
	// letter, with its dlq_* metadata.
	OnDeadLetter func(Report)
	// OnPause: a dependency is down. Nothing is handed out but probes, the first after Delay.
	OnPause func(Report)
	// OnResume: a probe succeeded. The pause had lasted for Took.
	OnResume func(Report)
	// OnObsolete: an event was skipped because there is a newer one; see Sequence and Newest.
	OnObsolete func(Report)
	// OnIgnored: an event was acknowledged because its Type has no handler.
	OnIgnored func(Report)
	// OnHandled: a handler ran for Messages, and Took a time. Err is its result, a [BatchError] if
	// a part of a batch failed.
	OnHandled func(Report)
}

// Report describes to one of the [Hooks] what happened. Fields that the hook does not name are
// zero.
type Report struct {
	Topic, Group string
	// Message is nil in OnPause, OnResume and OnHandled.
	Message *message.Message
	// Err is the last failure, and nil where nothing failed.
	Err             error
	Class           fault.Class // of Err, in OnRetry and OnDeadLetter
	Attempts        int
	Delay           time.Duration
	Took            time.Duration
	DeadLetterTopic string
	Reason          string
	Messages        int    // of the batch; 1 for a consumer without batches
	Panicked        bool   // OnHandled: the handler did not return; Err is nil
	Sequence        uint64 // the event's own
	Newest          uint64 // the newest sequence of its key
	Type            string
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

func both(first, then func(Report)) func(Report) {
	switch {
	case first == nil:
		return then
	case then == nil:
		return first
	}
	return func(r Report) {
		first(r)
		then(r)
	}
}

// timed runs a handler for this number of messages and reports the time it took.
func (c *consumer) timed(messages int, run func() error) error {
	tell := c.Hooks.OnHandled
	if tell == nil {
		return run()
	}
	h := Report{Topic: c.Topic, Group: c.Group, Messages: messages, Panicked: true}
	began := time.Now()
	defer func() {
		h.Took = time.Since(began)
		tell(h)
	}()
	h.Err = run()
	h.Panicked = false
	return h.Err
}
