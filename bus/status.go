package bus

// State of a consumer.
type State string

// The states of a consumer.
const (
	Stopped State = "stopped"
	Running State = "running"
	Paused  State = "paused" // a dependency is down; it resumes by itself
)

// ConsumerStatus is what an operator wants to know of a consumer. Counters
// start at zero with the process.
type ConsumerStatus struct {
	Topic, Group    string
	DeadLetterTopic string
	State           State
	InFlight        int    // handlers at work
	Handled         int64  // messages handled successfully
	Retried         int64  // attempts that failed and were or will be repeated
	DeadLettered    int64  // dead letters published
	LastError       string // of the latest failure of any kind; "" when none
}

func (c *consumer) status() ConsumerStatus {
	s := ConsumerStatus{
		Topic: c.Topic, Group: c.Group, DeadLetterTopic: c.deadLetterTopic,
		State:        Stopped,
		InFlight:     int(c.inFlight.Load()),
		Handled:      c.handled.Load(),
		Retried:      c.retried.Load(),
		DeadLettered: c.deadLettered.Load(),
	}
	switch {
	case c.paused.Load():
		s.State = Paused
	case c.running.Load():
		s.State = Running
	}
	c.mu.Lock()
	s.LastError = c.lastError
	c.mu.Unlock()
	return s
}
