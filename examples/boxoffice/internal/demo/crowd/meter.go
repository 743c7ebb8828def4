package crowd

import (
	"math"
	"sync"
	"time"
)

// Buckets of a [Histogram] grow by 2 %, from 10 µs to beyond 10 minutes, so a
// percentile is at most 2 % off and memory is fixed for a run of any duration.
const (
	growth   = 1.02
	shortest = 10 * time.Microsecond
	buckets  = 920
)

// Histogram counts durations. The zero value is ready; it is not safe for
// concurrent use.
type Histogram struct {
	counts [buckets]uint32
	n      int
	max    time.Duration
}

func (h *Histogram) add(d time.Duration) {
	i := 0
	if d > shortest {
		i = min(int(math.Log(float64(d)/float64(shortest))/math.Log(growth))+1, buckets-1)
	}
	h.counts[i]++
	h.n++
	h.max = max(h.max, d)
}

// Count returns how many durations were added.
func (h *Histogram) Count() int { return h.n }

// Max returns the longest duration.
func (h *Histogram) Max() time.Duration { return h.max }

// Quantile returns the duration that a share q (0 to 1) stays within; 0 when
// nothing was added.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := max(int(math.Ceil(q*float64(h.n))), 1)
	seen := 0
	for i, c := range h.counts {
		if seen += int(c); seen >= rank {
			top := time.Duration(float64(shortest) * math.Pow(growth, float64(i)))
			return min(top, h.max)
		}
	}
	return h.max
}

// Meter collects the measurements of a crowd. It is safe for concurrent use.
type Meter struct {
	mu     sync.Mutex
	order  []string
	steps  map[string]*Histogram
	counts map[string]int
}

func newMeter() *Meter {
	return &Meter{steps: map[string]*Histogram{}, counts: map[string]int{}}
}

// Observe adds the duration of one step.
func (m *Meter) Observe(step string, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.steps[step]
	if h == nil {
		h = &Histogram{}
		m.steps[step] = h
		m.order = append(m.order, step)
	}
	h.add(d)
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
	Histogram
}

// Steps returns a copy of every step that was measured, in the order in which
// they first occurred.
func (m *Meter) Steps() []Step {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Step, 0, len(m.order))
	for _, name := range m.order {
		out = append(out, Step{Name: name, Histogram: *m.steps[name]})
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
