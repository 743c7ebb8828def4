package outbox

import (
	"hash/maphash"
	"time"
)

const (
	// A lane that fails so often in a row ends its round, or that takes slowRow for
	// fewer: more attempts would only wait for more timeouts.
	failuresInARow = 16
	slowFailures   = 3
	slowRow        = 500 * time.Millisecond
	// So many failing events are enough to find out whether the publisher is back.
	enoughFailing = 256
	// So many events are probed with after a round in which nothing got through, and
	// four times as many after each further one.
	firstProbes = 4
)

// work is a batch at hand. Its items are published in lanes: one lane has all
// events of a key, in order. items[:own] are the batch; what follows was read
// on to probe with, while a failing event blocks the batch.
type work struct {
	items []Item
	state []State
	next  Mark
	full  bool // more was there when it was read
	aside bool // the items stand aside, and have no place in the log

	own     int
	lanes   []lane
	spare   []int32 // behind own, in no lane yet
	behind  []int32 // their key stands aside, and there is no room to join it
	settled int     // items[:settled] are finished and behind the settled mark
	tried   bool    // a round has been made
	due     time.Time
	began   time.Time
}

// lane is the unfinished items of some keys.
type lane struct {
	items   []int32 // indexes of the work's items, ascending
	failing []*failure
	blocked map[string]struct{} // keys that nothing may be published of now
}

// failure is an event that failed and keeps its place, or is about to lose it.
type failure struct {
	item int32
	due  time.Time
	last attempt // of this relay; at is zero before the first

	// Of the present round.
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

// laneOf is the lane of a key; any spread will do within one process.
func (w *work) laneOf(key string) *lane {
	if len(w.lanes) == 1 {
		return &w.lanes[0]
	}
	return &w.lanes[maphash.String(keySeed, key)%uint64(len(w.lanes))]
}

// newWork takes up a batch: of the log, or of what stands aside.
func (s *shard) newWork(b Batch, full, aside bool) *work {
	w := &work{
		items: b.Items, state: make([]State, len(b.Items)), next: b.Next, full: full, aside: aside,
		own: len(b.Items), lanes: make([]lane, s.spread(len(b.Items))), began: time.Now(),
	}
	for i := range w.items {
		s.enter(w, int32(i))
	}
	return w
}

// spread says into how many lanes n events go: into one when the publisher is so
// quick that more would only cut its calls smaller.
func (s *shard) spread(n int) int {
	if time.Duration(s.r.cost.Load()) < 5*time.Microsecond {
		return 1
	}
	return max(1, min(n, s.r.cfg.Lanes))
}

// enter puts an item into its lane.
func (s *shard) enter(w *work, i int32) {
	it := &w.items[i]
	l := w.laneOf(it.Key)
	switch {
	case !w.aside && s.aside.has(it.Key):
		w.behind = append(w.behind, i)
		l.block(it.Key)
	case it.Attempts > 0 && !l.hasBefore(w, it.Key):
		// It failed before this relay had the shard, or it stands aside.
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

// follow looks again at items whose key stands aside: they join it behind, wait
// for room, or are free because the key has come through.
func (s *shard) follow(w *work) (joined []*Item) {
	if len(w.behind) == 0 {
		return nil
	}
	wait := w.behind[:0]
	for _, i := range w.behind {
		it := &w.items[i]
		switch {
		case w.state[i] != Waiting:
		case !s.aside.has(it.Key):
			delete(w.laneOf(it.Key).blocked, it.Key)
		case s.aside.total+len(joined) >= s.r.cfg.MaxAside:
			wait = append(wait, i)
		default:
			delete(w.laneOf(it.Key).blocked, it.Key)
			w.state[i] = MovedAside
			joined = append(joined, it)
		}
	}
	w.behind = wait
	for _, i := range wait {
		w.laneOf(w.items[i].Key).block(w.items[i].Key)
	}
	return joined
}

// prefix returns the place behind the finished items at the front, nil when it
// has not moved since it was settled.
func (w *work) prefix() Mark {
	n := w.settled
	for n < len(w.state) && w.state[n] > Held {
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
		return true // one round each; the index says when to come back
	}
	return w.settled == len(w.items)
}

// never is a due time that something else must bring forward.
const never = 24 * time.Hour

// tidy forgets what is finished, and says when the next round is due: when a
// failing event may be tried again, or at the latest when it is time to probe.
func (s *shard) tidy(w *work, now time.Time) {
	var first time.Time
	failing, left := 0, 0
	for i := range w.lanes {
		l := &w.lanes[i]
		keep := l.items[:0]
		for _, i := range l.items {
			if w.state[i] <= Held {
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
		// The batch is through: what was read on to probe with takes its place.
		for _, i := range w.spare {
			s.enter(w, i)
		}
		w.own, w.spare, w.due = len(w.items), nil, now
	case failing > 0:
		w.due = earlier(first, now.Add(s.probeAfter()))
	case left == len(w.behind):
		w.due = now.Add(never) // until their keys come through, see tryAside
	default:
		w.due = now // the round ended early
	}
}
