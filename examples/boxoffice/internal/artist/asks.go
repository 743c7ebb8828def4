package artist

import (
	"sync"
	"time"
)

// maxRecent bounds how many answers are remembered. Past it all are forgotten,
// which costs a question each.
const maxRecent = 10_000

// ask is a refresh that a read wants.
type ask struct {
	id      string
	reason  Reason
	unknown bool // the database may have no row of it
}

// asks is what stands between reads, which must not wait, and the coalescer and
// the broker, which may hang: a bounded queue with each artist in it once.
type asks struct {
	queue chan ask
	keep  time.Duration

	mu      sync.Mutex
	pending map[string]struct{}
	// recent are those that were asked for, with success. They stay when their
	// refresh is over: a read that began before would ask for another.
	recent  map[string]time.Time
	away    bool // the last answer was a refusal
	dropped int64
}

func newAsks(size int, keep time.Duration) *asks {
	return &asks{queue: make(chan ask, size), keep: keep, pending: map[string]struct{}{}, recent: map[string]time.Time{}}
}

// knows reports whether a refresh of id is known to be under way.
func (a *asks) knows(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, pending := a.pending[id]
	return pending || time.Since(a.recent[id]) < a.keep
}

// offer queues a question unless it was asked a moment ago, and reports whether
// a refresh may be relied on: not while the last one was refused.
func (a *asks) offer(q ask) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q.reason != UserRequest && time.Since(a.recent[q.id]) < a.keep {
		return true
	}
	if _, ok := a.pending[q.id]; ok {
		return !a.away
	}
	select {
	case a.queue <- q:
		a.pending[q.id] = struct{}{}
		return !a.away
	default:
		a.dropped++
		return false
	}
}

// answered notes what became of a question.
func (a *asks) answered(id string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pending, id)
	a.away = err != nil
	if err != nil {
		return
	}
	if len(a.recent) >= maxRecent {
		clear(a.recent)
	}
	a.recent[id] = time.Now()
}

// standing is how many wait, and how many were dropped so far.
func (a *asks) standing() (waiting int, dropped int64, away bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.pending), a.dropped, a.away
}
