package crowd

import (
	"sync"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/percentile"
)

// Meter collects the measurements of a crowd. It is safe for concurrent use.
type Meter struct {
	mu     sync.Mutex
	order  []string
	steps  map[string]*percentile.Meter
	counts map[string]int
}

func newMeter() *Meter {
	return &Meter{steps: map[string]*percentile.Meter{}, counts: map[string]int{}}
}

// Observe adds the duration of one step.
func (m *Meter) Observe(step string, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.steps[step]
	if h == nil {
		h = &percentile.Meter{}
		m.steps[step] = h
		m.order = append(m.order, step)
	}
	h.Add(d)
}

// Count adds one to a counter.
func (m *Meter) Count(name string) {
	m.mu.Lock()
	m.counts[name]++
	m.mu.Unlock()
}

// Counter reads a counter.
func (m *Meter) Counter(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counts[name]
}

// Step is the measure of one step.
type Step struct {
	Name string
	*percentile.Meter
}

// Steps returns every step that was measured, in the order in which they first occurred.
func (m *Meter) Steps() []Step {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Step, 0, len(m.order))
	for _, name := range m.order {
		out = append(out, Step{name, m.steps[name]})
	}
	return out
}

// Requests returns how many requests were answered.
func (m *Meter) Requests() int { return m.Counter(countAnswered) }

// Names of the counters.
const (
	countAnswered = "answered"      // requests that got an answer
	countLost     = "lost"          // requests that got none: the connection broke
	countBusy     = "busy"          // 429, 502, 503, 504: repeated
	countConflict = "seat conflict" // a hold that another fan was faster with
	countTwice    = "paid twice"    // repeated payments with one key
	countComment  = "comment"       // written
	countMessage  = "chat message"  // accepted
	countNotice   = "notice"        // a notification that came live
	countReopened = "reopened"      // live streams that broke and came back
)
