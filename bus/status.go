package bus

import "time"

// State of a consumer.
type State string

// The states of a consumer.
const (
	Stopped State = "stopped"
	Running State = "running"
	Paused  State = "paused" // a dependency is down; it resumes by itself
	Held    State = "held"   // the low half of a Pair, while the high one is behind
)

// ConsumerStatus is the state of a consumer for operators. Counters start at zero with the
// process.
type ConsumerStatus struct {
	Topic, Group    string
	DeadLetterTopic string
	State           State
	Hold            string        // of the low half of a Pair: why it is held back or runs
	InFlight        int           // messages that are being handled
	Overdue         int           // handlers still at work 5 s or more after their context ended
	OldestOverdue   time.Duration // since the oldest of them began; 0 when there is none
	Handled         int64         // messages handled successfully
	Batches         int64         // calls of a batch handler
	Obsolete        int64         // messages skipped because there is a newer one
	Ignored         int64         // messages skipped because their type has no handler
	Retried         int64         // attempts that failed and were or will be repeated
	DeadLettered    int64         // dead letters published
	Pauses          int64         // times it paused because a dependency was down
	LastError       string        // of the latest failure of any kind; "" when none
}

func (c *consumer) status() ConsumerStatus {
	s := ConsumerStatus{
		Topic: c.Topic, Group: c.Group, DeadLetterTopic: c.deadLetterTopic,
		State:        Stopped,
		InFlight:     int(c.inFlight.Load()),
		Handled:      c.handled.Load(),
		Retried:      c.retried.Load(),
		DeadLettered: c.deadLettered.Load(),
		Batches:      c.batches.Load(),
		Obsolete:     c.obsolete.Load(),
		Ignored:      c.ignored.Load(),
		Pauses:       c.pauses.Load(),
	}
	held, reason := c.gate.state()
	s.Hold = reason
	switch {
	case c.paused.Load():
		s.State = Paused
	case held && c.running.Load():
		s.State = Held
	case c.running.Load():
		s.State = Running
	}
	c.mu.Lock()
	s.LastError = c.lastError
	s.Overdue, s.OldestOverdue = c.overdueNow()
	c.mu.Unlock()
	return s
}
