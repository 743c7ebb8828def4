package queue

import (
	"container/heap"
	"slices"
	"time"
)

// dutyKind is a kind of an admitter's work.
type dutyKind uint8

const (
	listing   dutyKind = iota // asks which events there are
	admitting                 // of an event
	sweeping                  // of an event
)

func (k dutyKind) String() string { return [...]string{"list events", "admit", "sweep"}[k] }

// duty is work that an admitter does periodically.
type duty struct {
	kind    dutyKind
	of      *served       // of no event for listing
	due     time.Duration // on the room's clock
	from    int64         // sweeping: where it goes on
	failing bool          // whether it failed the last time
}

// served is an event that an admitter serves.
type served struct {
	event string
	gone  bool // it is not listed any more: its duties end when they are due
	watch watch
}

// finished is a duty that was done, with the time it is due again and its result.
type finished struct {
	duty   *duty
	again  time.Duration
	events []string
	listed bool
}

// rota is the duties of an admitter by the time they are due. Duties in progress
// are not in it, so that a slow duty never runs twice at a time.
type rota struct {
	waiting heapOfDuties
	serves  map[string]*served
}

func newRota() *rota {
	return &rota{waiting: heapOfDuties{{kind: listing, of: &served{}}}, serves: make(map[string]*served)}
}

// take takes the duty that is due for longest; nil when none is.
func (r *rota) take(now time.Duration) *duty {
	for len(r.waiting) > 0 && r.waiting[0].due <= now {
		if d := heap.Pop(&r.waiting).(*duty); !d.of.gone {
			return d
		}
	}
	return nil
}

// next is when the next duty is due.
func (r *rota) next() (time.Duration, bool) {
	if len(r.waiting) == 0 {
		return 0, false
	}
	return r.waiting[0].due, true
}

// put puts back a duty that was done.
func (r *rota) put(f finished, now time.Duration) {
	if f.listed {
		r.list(f.events, now)
	}
	f.duty.due = now + f.again
	heap.Push(&r.waiting, f.duty)
}

// hurry makes the admissions of an event due, unless they are in progress.
func (r *rota) hurry(event string, now time.Duration) {
	s := r.serves[event]
	i := slices.IndexFunc(r.waiting, func(d *duty) bool { return d.of == s && d.kind == admitting })
	if s != nil && i >= 0 && r.waiting[i].due > now {
		r.waiting[i].due = now
		heap.Fix(&r.waiting, i)
	}
}

// list adds the duties of new events, and ends those of events that are gone.
func (r *rota) list(events []string, now time.Duration) {
	listed := make(map[string]bool, len(events))
	for _, event := range events {
		listed[event] = true
		if r.serves[event] == nil {
			s := &served{event: event}
			r.serves[event] = s
			heap.Push(&r.waiting, &duty{kind: admitting, of: s, due: now})
			heap.Push(&r.waiting, &duty{kind: sweeping, of: s, due: now})
		}
	}
	for event, s := range r.serves {
		if !listed[event] {
			s.gone = true
			delete(r.serves, event)
		}
	}
}

type heapOfDuties []*duty

func (h heapOfDuties) Len() int           { return len(h) }
func (h heapOfDuties) Less(i, j int) bool { return h[i].due < h[j].due }
func (h heapOfDuties) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heapOfDuties) Push(d any)        { *h = append(*h, d.(*duty)) }
func (h *heapOfDuties) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return last
}
