package coalescetest_test

import (
	"context"
	"sync"

	"github.com/millrace-go/millrace/coalesce/driver"
)

// naive is a store that reads and then acts. In the named step, the first two callers wait for
// each other after the read, so that both act on the same state; without a step it is atomic.
type naive struct {
	step string
	meeting

	mu      sync.Mutex
	state   state
	version int64
}

// state of the only key.
type state struct {
	ticket driver.Ticket
	held   bool
	marked bool
}

// meeting blocks the first caller until a second one has arrived.
type meeting struct {
	mu   sync.Mutex
	n    int
	both chan struct{}
}

func (m *meeting) wait() {
	m.mu.Lock()
	if m.both == nil {
		m.both = make(chan struct{})
	}
	m.n++
	both, early := m.both, m.n == 1
	if m.n == 2 {
		close(both)
	}
	m.mu.Unlock()
	if early {
		<-both
	}
}

// see returns the state for a step to act on.
func (s *naive) see(step string) state {
	s.mu.Lock()
	seen := s.state
	if step != s.step {
		return seen // and go on alone
	}
	s.mu.Unlock()
	s.wait()
	s.mu.Lock()
	return seen
}

func (s *naive) take(key string, p driver.Priority) driver.Ticket {
	s.version++
	s.state = state{ticket: driver.Ticket{Key: key, Priority: p, Version: s.version}, held: true}
	return s.state.ticket
}

func (s *naive) Request(_ context.Context, key string, p driver.Priority, again bool, _ driver.TTLs) (driver.Decision, error) {
	seen := s.see("request " + string(p))
	defer s.mu.Unlock()
	switch {
	case !seen.held:
		return driver.Decision{Outcome: driver.Published, Ticket: s.take(key, p)}, nil
	case seen.ticket.Priority == driver.Low && p == driver.High:
		return driver.Decision{Outcome: driver.Upgraded, Ticket: s.take(key, p)}, nil
	}
	s.state.marked = s.state.marked || again
	return driver.Decision{Outcome: driver.AlreadyProcessing, Ticket: seen.ticket}, nil
}

func (s *naive) Release(_ context.Context, t driver.Ticket) (bool, error) {
	seen := s.see("release")
	defer s.mu.Unlock()
	if !seen.held || seen.ticket != t {
		return false, nil
	}
	s.state.held = false
	return true, nil
}

func (s *naive) Done(_ context.Context, t driver.Ticket, _ driver.TTLs) (driver.End, error) {
	seen := s.see("done")
	defer s.mu.Unlock()
	switch {
	case !seen.held || seen.ticket != t:
		return driver.End{}, nil
	case seen.marked:
		return driver.End{Released: true, Again: true, Next: s.take(t.Key, driver.Low)}, nil
	}
	s.state.held = false
	return driver.End{Released: true}, nil
}

func (s *naive) Extend(context.Context, driver.Ticket, driver.TTLs) (bool, error) {
	return false, nil
}

func (s *naive) Current(context.Context, string) (int64, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version, s.version > 0, nil
}

func raceDefects() []defect {
	var out []defect
	for _, d := range []struct{ name, step, caught string }{
		{"looks and then takes", "request HIGH", "concurrent-requests"},
		{"looks and then upgrades", "request HIGH", "concurrent-upgrades"},
		{"looks and then releases", "release", "concurrent-release"},
		{"looks and then ends a run", "done", "concurrent-done"},
	} {
		out = append(out, defect{d.name, []string{d.caught}, func(driver.MemoryStore) driver.Store { return &naive{step: d.step} }})
	}
	return out
}
