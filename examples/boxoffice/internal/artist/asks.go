package artist

import (
	"sync"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
)

// maxRecent bounds how many answers are remembered. Beyond it all are dropped, which
// costs a question each.
const maxRecent = 10_000

// ask is a wish of a read for a refresh.
type ask struct {
	id      string
	reason  Reason
	unknown bool   // the database may have no row of it
	request string // the event has its id: the first asker's
}

// asks stands between reads, which must not wait, and the coalescer and the broker,
// which may hang. Each artist is in it once: in a bounded queue for the askers, or,
// when the queue is full or the asking has failed, in a bounded list that is written
// to the table artist_asks.
type asks struct {
	queue chan ask
	limit int // of deferred
	keep  time.Duration
	// some has something when a deferred ask is to be written.
	some signal.Signal

	mu       sync.Mutex
	pending  map[string]struct{}
	deferred []ask
	room     chan struct{} // closed when deferred is shorter again
	// recent are the artists that were asked for, with success. They stay when their
	// refresh is over: a read that began before would ask for another.
	recent  map[string]time.Time
	away    bool // the last answer was a refusal
	dropped int64
}

func newAsks(size, limit int, keep time.Duration) *asks {
	return &asks{
		queue: make(chan ask, size), limit: limit, keep: keep, some: signal.New(),
		pending: map[string]struct{}{}, room: make(chan struct{}), recent: map[string]time.Time{},
	}
}

// knows reports whether a refresh of id is known to be in flight.
func (a *asks) knows(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, pending := a.pending[id]
	return pending || time.Since(a.recent[id]) < a.keep
}

// promises reports whether an accepted question may be relied on: not while the last
// question was refused.
func (a *asks) promises() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.away
}

// offer takes a question unless it was asked a moment ago, and reports whether a
// refresh may be relied on. A non-nil full means that there is no room: full is
// closed when there may be room again.
func (a *asks) offer(q ask) (queued bool, full <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.recent[q.id]) < a.keep {
		return true, nil
	}
	if _, ok := a.pending[q.id]; ok {
		return !a.away, nil
	}
	select {
	case a.queue <- q:
	default:
		if !a.put(q) {
			return false, a.room
		}
	}
	a.pending[q.id] = struct{}{}
	return !a.away, nil
}

// put has a question written to the table, and reports whether there is room.
func (a *asks) put(q ask) bool {
	if len(a.deferred) >= a.limit {
		return false
	}
	a.deferred = append(a.deferred, q)
	a.some.Wake()
	return true
}

// again has a refused question written to the table. A non-nil full means the same as
// in offer: nothing was done with the question.
func (a *asks) again(q ask) (full <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.put(q) {
		return a.room
	}
	return nil
}

// rest puts questions, and those of the queue, on the list, which may exceed its
// limit: the askers have ended.
func (a *asks) rest(all ...ask) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deferred = append(a.deferred, all...)
	for {
		select {
		case q := <-a.queue:
			a.deferred = append(a.deferred, q)
		default:
			return
		}
	}
}

// accepted notes that a question was asked.
func (a *asks) accepted(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pending, id)
	if len(a.recent) >= maxRecent {
		clear(a.recent)
	}
	a.recent[id] = time.Now()
}

// answered records the result of a question, and reports whether it is the first
// refusal of a row.
func (a *asks) answered(err error) (first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	first = err != nil && !a.away
	a.away = err != nil
	return first
}

// drop counts a read whose question had no room.
func (a *asks) drop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dropped++
}

// first returns up to n questions that are to be written.
func (a *asks) first(n int) []ask {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]ask(nil), a.deferred[:min(n, len(a.deferred))]...)
}

// written removes the first n questions, which were written, from the list.
func (a *asks) written(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.deferred[:n] {
		delete(a.pending, q.id)
	}
	a.deferred = append(a.deferred[:0], a.deferred[n:]...)
	close(a.room)
	a.room = make(chan struct{})
}

// standing returns how many wait, and how many were dropped so far.
func (a *asks) standing() (waiting int, dropped int64, away bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.pending), a.dropped, a.away
}
