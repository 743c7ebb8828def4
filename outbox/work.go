package outbox

import (
	"hash/maphash"
	"time"

	"github.com/millrace-go/millrace/outbox/driver"
)

const (
	// A lane ends its round after failuresInARow consecutive failures, or after slowFailures if
	// they took slowRow: more attempts would only wait for more timeouts.
	failuresInARow = 16
	slowFailures   = 3
	slowRow        = 500 * time.Millisecond
	// So many failing events are enough to find out whether the publisher works again.
	enoughFailing = 256
	// After a round in which all attempts failed, firstProbes events are probed, and four times
	// as many after each further one.
	firstProbes = 4
)

// work is the current batch. Its items are published in lanes: one lane has all events of a
// key, in order. Behind the batch, items has those that were read as probes while a failing event
// blocks it.
type work struct {
	items []driver.Item
	state []driver.State
	next  driver.Mark
	full  bool // there were more events at the time of the read
	aside bool // the items are deferred, and have no position in the log

	lanes   []lane
	spare   []int32 // behind the batch, in no lane yet
	behind  []int32 // their key has deferred events, and MaxAside is reached
	settled int     // items[:settled] are finished and behind the settled mark
	tried   bool    // a round has been made
	due     time.Time
	began   time.Time
}

// lane holds the unfinished items of some keys.
type lane struct {
	items   []int32 // indexes of the work's items, ascending
	failing []*failure
	blocked map[string]struct{} // keys that must not be published now
}

// failure is an event that failed and is not deferred yet.
type failure struct {
	item int32
	due  time.Time
	last attempt // of this relay; at is zero before the first

	// The current round.
	tried     bool
	at        time.Time
	err       error
	permanent bool
	weighed
}

func (l *lane) block(key string) {
	if l.blocked == nil {
		l.blocked = map[string]struct{}{}
	}
	l.blocked[key] = struct{}{}
}

func (l *lane) isBlocked(key string) bool {
	if len(l.blocked) == 0 {
		return false
	}
	_, ok := l.blocked[key]
	return ok
}

var keySeed = maphash.MakeSeed()

// laneOf returns the lane of a key; any distribution will do within one process.
func (w *work) laneOf(key string) *lane {
	if len(w.lanes) == 1 {
		return &w.lanes[0]
	}
	return &w.lanes[maphash.String(keySeed, key)%uint64(len(w.lanes))]
}

// newWork creates a work of so many lanes from a batch, of the log or of deferred events.
func (s *shard) newWork(b driver.Batch, lanes int, full, aside bool) *work {
	w := &work{
		items: b.Items, state: make([]driver.State, len(b.Items)), next: b.Next, full: full, aside: aside,
		lanes: make([]lane, lanes), began: time.Now(),
	}
	for i := range w.items {
		s.enter(w, int32(i))
	}
	return w
}

// spread returns the number of lanes for n events. It is 1 if the publisher is so quick that
// more lanes would only make its calls smaller.
func (s *shard) spread(n int) int {
	if s.r.quick() {
		return 1
	}
	return max(1, min(n, s.r.cfg.Lanes))
}

// quick reports whether the publisher returns at once.
func (r *Relay) quick() bool { return time.Duration(r.cost.Load()) < 5*time.Microsecond }

// enter puts an item into its lane.
func (s *shard) enter(w *work, i int32) {
	it := &w.items[i]
	l := w.laneOf(it.Key)
	switch {
	case !w.aside && s.aside.has(it.Key):
		w.behind = append(w.behind, i)
		l.block(it.Key)
	case it.Attempts > 0 && !l.hasBefore(w, it.Key):
		// It failed before this relay had the shard, or it is deferred.
		f := &failure{item: i, due: w.began.Add(it.Wait), last: attempt{seen: s.r.confirmed.Load()}}
		if last := s.aside.lastTry(it.Key); w.aside && !last.at.IsZero() {
			f.last = last
			it.Retries, it.FailedSince = max(it.Retries, last.retries), earliest(it.FailedSince, last.since)
		}
		l.failing = append(l.failing, f)
		l.block(it.Key)
	}
	l.items = append(l.items, i)
}

func (l *lane) hasBefore(w *work, key string) bool {
	for _, i := range l.items {
		if w.items[i].Key == key {
			return true
		}
	}
	return false
}

// follow checks items whose key has deferred events: they are deferred too, wait while MaxAside
// is reached, or are free because the key has no deferred events any more.
func (s *shard) follow(w *work) (joined []*driver.Item) {
	if len(w.behind) == 0 {
		return nil
	}
	wait := w.behind[:0]
	for _, i := range w.behind {
		it := &w.items[i]
		switch {
		case w.state[i] != driver.Waiting:
		case !s.aside.has(it.Key):
			delete(w.laneOf(it.Key).blocked, it.Key)
		case s.aside.total+len(joined) >= s.r.cfg.MaxAside:
			wait = append(wait, i)
		default:
			delete(w.laneOf(it.Key).blocked, it.Key)
			w.state[i] = driver.MovedAside
			joined = append(joined, it)
		}
	}
	w.behind = wait
	for _, i := range wait {
		w.laneOf(w.items[i].Key).block(w.items[i].Key)
	}
	return joined
}

// prefix returns the position behind the finished items at the front, nil when it has not moved
// since it was settled.
func (w *work) prefix() driver.Mark {
	n := w.settled
	for n < len(w.state) && w.state[n] > driver.Held {
		n++
	}
	if w.aside || n == w.settled {
		return nil
	}
	w.settled = n
	if n == len(w.items) {
		return w.next
	}
	return w.items[n-1].Mark
}

func (w *work) finished() bool {
	if w.aside {
		return true // one round each; the index has the next due time
	}
	return w.settled == len(w.items)
}

// never is a due time that another event has to bring forward.
const never = 24 * time.Hour

// tidy removes finished items, and sets when the next round is due: when a failing event may be
// retried, or at the latest when it is time to probe.
func (s *shard) tidy(w *work, now time.Time) {
	var first time.Time
	failing, left := 0, 0
	for i := range w.lanes {
		l := &w.lanes[i]
		keep := l.items[:0]
		for _, i := range l.items {
			if w.state[i] <= driver.Held {
				keep = append(keep, i)
			}
		}
		l.items = keep
		left += len(keep)
		failing += len(l.failing)
		for _, f := range l.failing {
			if first.IsZero() || f.due.Before(first) {
				first = f.due
			}
		}
	}
	switch {
	case left == 0:
		// The batch is finished: the spare items become the batch.
		for _, i := range w.spare {
			s.enter(w, i)
		}
		w.spare, w.due = nil, now
	case failing > 0:
		w.due = earlier(first, now.Add(s.probeAfter()))
	case left == len(w.behind):
		w.due = now.Add(never) // until their keys are free, see tryAside
	default:
		w.due = now // the round ended early
	}
}
