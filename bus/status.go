package bus

import "time"

// ConsumerStatus is the state of a consumer for operators. Counters start at zero with the
// process.
type ConsumerStatus struct {
	Topic, Group    string
	DeadLetterTopic string
	Running         bool          // from its subscription to the end of Run
	Paused          bool          // a dependency is down; the consumer resumes by itself
	Held            bool          // the low half of a Pair, while the high one is behind
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
		Running:      c.running.Load(),
		Paused:       c.paused.Load(),
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
	s.Held, s.Hold = held && s.Running && !s.Paused, reason
	c.mu.Lock()
	s.LastError = c.lastError
	s.Overdue, s.OldestOverdue = c.overdueNow()
	c.mu.Unlock()
	return s
}
