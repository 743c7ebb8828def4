package budget

import (
	"github.com/millrace-go/millrace/ratelimit/driver"
)

// State is the stored state of a budget; the zero value means missing state. Each mode has its
// own state; both share the day.
type State struct {
	Buckets Buckets
	Windows Windows
	Day     Day
}

// Acquire decides the runs in the mode of the plan.
func (s *State) Acquire(p *driver.Plan, ask driver.Ask, m Moment) driver.Grant {
	if p.Strict {
		return s.Windows.Acquire(p, ask, &s.Day, m)
	}
	return s.Buckets.Acquire(p, ask, &s.Day, m)
}

// Return gives a permit back.
func (s *State) Return(p *driver.Plan, r driver.Returned, m Moment) {
	if p.Strict {
		s.Windows.Return(p, r, &s.Day, m)
	} else {
		s.Buckets.Return(p, r, &s.Day, m)
	}
}
