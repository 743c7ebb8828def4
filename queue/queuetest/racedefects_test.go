package queuetest_test

import (
	"sync"

	"github.com/millrace-go/millrace/queue/driver"
)

// meeting lets callers go on two by two, so that both of them act on data that is
// out of date.
type meeting struct {
	mu     sync.Mutex
	waiter chan struct{}
}

func (m *meeting) meet() {
	m.mu.Lock()
	if m.waiter != nil {
		close(m.waiter)
		m.waiter = nil
		m.mu.Unlock()
		return
	}
	mine := make(chan struct{})
	m.waiter = mine
	m.mu.Unlock()
	<-mine
}

// raceDefects are of one backend each: they have a memory that its callers share.
func raceDefects() []defect {
	var m meeting
	var mu sync.Mutex
	last := map[string]driver.Admission{}
	return []defect{
		{"looks for a place, and then takes it", []string{"arrivals-race-for-places"}, hooks{visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			if len(visits) != 1 || visits[0].Kind != driver.Check {
				return c.visit(beats, visits...)
			}
			s := c.state()
			m.meet() // the race calls in even numbers
			if s.Active < s.Threshold {
				c.r.Threshold = 1_000_000
			}
			return c.visit(beats, visits...)
		}}},
		{"looks who is first, and then admits them", []string{"admissions-race"}, hooks{admit: func(_ *backend, c call) (driver.Admission, error) {
			a, err := c.admit()
			mu.Lock()
			defer mu.Unlock()
			if before := last[c.event]; len(a.Admitted) == 0 && len(before.Admitted) > 0 && err == nil {
				a.Admitted = before.Admitted // another instance has read them too
				delete(last, c.event)
			} else {
				last[c.event] = a
			}
			return a, err
		}}},
	}
}
