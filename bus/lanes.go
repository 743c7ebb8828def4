package bus

import (
	"container/heap"
	"time"
)

// lane is the queue of one key. Only its head may be out, or in a batch its first few messages;
// the messages behind wait.
type lane struct {
	key   string
	queue []*delivery
	due   time.Time // when a parked lane becomes ready
	ready bool      // whether it is in lanes.ready
	since time.Time // when it became ready
}

// lanes holds the messages of a subscription, by key. A lane with messages is in exactly one
// state: ready, waiting, parked, or busy (its head is out). lanes has no locks; the
// subscription's mu guards it.
type lanes struct {
	byKey     map[string]*lane
	ready     []*lane // may hand out their head, in this order
	available int     // messages in ready lanes
	waiting   []*lane // wait for the end of a pause
	parked    dueHeap // wait until their due time
	held      int     // messages in all lanes
}

func newLanes() *lanes { return &lanes{byKey: map[string]*lane{}} }

// add appends a message to its key's lane.
func (l *lanes) add(key string, d *delivery) {
	ln := l.byKey[key]
	if ln == nil {
		ln = &lane{key: key}
		l.byKey[key] = ln
		l.enlist(ln)
	}
	d.lane = ln
	ln.queue = append(ln.queue, d)
	l.held++
	if ln.ready {
		l.available++
	}
}

// enlist makes a new or busy lane ready, behind all ready lanes.
func (l *lanes) enlist(ln *lane) {
	l.mark(ln, time.Now())
	l.ready = append(l.ready, ln)
}

func (l *lanes) mark(ln *lane, since time.Time) {
	ln.ready, ln.since = true, since
	l.available += len(ln.queue)
}

// unmark records that a lane is not ready.
func (l *lanes) unmark(ln *lane) {
	ln.ready = false
	l.available -= len(ln.queue)
}

// next returns the message to hand out next, or nil.
func (l *lanes) next() *delivery {
	if len(l.ready) == 0 {
		return nil
	}
	return l.ready[0].queue[0]
}

// nextProbe returns a message to probe with: one that the pause holds, because it needs the
// dependency that is down, or one of another key, because the fault may be in the failed
// message. If there is no message of the preferred kind, it returns one of the other kind.
func (l *lanes) nextProbe(another bool) *delivery {
	if d := l.next(); another && d != nil {
		return d
	}
	if len(l.waiting) > 0 {
		return l.waiting[0].queue[0]
	}
	return l.next()
}

// take makes the lane of d, which next or nextProbe returned, busy.
func (l *lanes) take(d *delivery) {
	if len(l.waiting) > 0 && l.waiting[0] == d.lane {
		l.waiting = shift(l.waiting)
		return
	}
	l.unmark(d.lane)
	l.ready = shift(l.ready)
}

// finish removes d, the head of a busy lane. The lane goes behind all ready lanes, so that a
// busy key does not starve the others.
func (l *lanes) finish(d *delivery) {
	ln := d.lane
	ln.queue = shift(ln.queue)
	l.held--
	if len(ln.queue) == 0 {
		delete(l.byKey, ln.key)
		return
	}
	l.enlist(ln)
}

// park makes the busy lane of d wait until due.
func (l *lanes) park(d *delivery, due time.Time) {
	d.lane.due = due
	heap.Push(&l.parked, d.lane)
}

// wait makes the busy lane of d wait for release.
func (l *lanes) wait(d *delivery) { l.waiting = append(l.waiting, d.lane) }

// release makes all waiting lanes ready, ahead of those that are ready already: they have waited
// longest.
func (l *lanes) release() {
	for _, ln := range l.waiting {
		l.mark(ln, ln.since) // it has waited long enough
	}
	l.ready = append(l.waiting, l.ready...)
	l.waiting = nil
}

// wake makes the lanes ready whose due time has come.
func (l *lanes) wake(now time.Time) {
	for len(l.parked) > 0 && !l.parked[0].due.After(now) {
		l.enlist(heap.Pop(&l.parked).(*lane))
	}
}

// nextDue returns the earliest due time of a parked lane.
func (l *lanes) nextDue() (time.Time, bool) {
	if len(l.parked) == 0 {
		return time.Time{}, false
	}
	return l.parked[0].due, true
}

// all calls f for every message held, in order within a key.
func (l *lanes) all(f func(*delivery)) {
	for _, ln := range l.byKey {
		for _, d := range ln.queue {
			f(d)
		}
	}
}

// shift drops the first element, and clears it so that it can be collected.
func shift[T any](s []*T) []*T {
	s[0] = nil
	return s[1:]
}

// dueHeap orders parked lanes by their due time.
type dueHeap []*lane

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)        { *h = append(*h, x.(*lane)) }
func (h *dueHeap) Pop() any {
	old := *h
	n := len(old) - 1
	ln := old[n]
	old[n] = nil
	*h = old[:n]
	return ln
}
