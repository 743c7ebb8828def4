package queue

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/complaint"
	"github.com/millrace-go/millrace/queue/driver"
)

const (
	// recordEvery is how often a room is recorded within a minute.
	recordEvery = 5 * time.Second
	// maxMarks bounds what a process knows of the times at which orders were given out.
	maxMarks = 4096
)

// record is what a process keeps of an event for its figures, by its duty of admitting.
type record struct {
	mu         sync.Mutex
	marks      []mark        // in order
	waits      map[int]int64 // of turns that are not recorded yet
	laned      int64         // the same, of lanes
	next       time.Duration // on the room's clock
	loaded     bool
	complaints complaint.Log
}

// mark says that an order was the highest at a time, in ms since 1970.
type mark struct{ at, order int64 }

// recorded notes the users whose turn has come, and records the room from time to time.
// Figures never hold up an admission: an error is logged, and their counts are kept for
// the next attempt.
func (l *line) recorded(ctx context.Context, s State, turns []driver.Admitted) {
	recorder, ok := l.room.store.(driver.Recorder)
	if !ok {
		return
	}
	r := &l.record
	r.mu.Lock()
	defer r.mu.Unlock()
	now := l.room.now()
	ctx, cancel := l.room.bounded(ctx)
	defer cancel()
	if !r.loaded {
		// After a restart the minutes of the others say when orders were given out.
		samples, err := recorder.Samples(ctx, l.event)
		if err != nil {
			return
		}
		r.begin(s, samples)
	}
	r.mark(s.Now.UnixMilli(), l.top.Load(), s.Joined)
	for _, one := range turns {
		if one.Laned {
			r.laned++
		}
		if wait, ok := r.waited(one.Order, s.Now.UnixMilli()); ok {
			r.waits[waitBucket(wait)]++
		}
	}
	if now < r.next {
		return
	}
	r.next = now + recordEvery
	one := driver.Sample{
		Minute: s.Now.Unix() / 60, Epoch: s.Epoch, Joined: s.Joined, Entered: s.Entered, NoShows: s.NoShows,
		Waiting: s.Waiting, Entitled: s.Entitled, Active: s.Active, Returned: s.Returned, Returning: s.Returning,
		Highest: l.top.Load(), Waits: r.waits, Laned: r.laned,
	}
	if s.Stock.Known {
		left := s.Stock.Left
		one.Stock = &left
	}
	err := recorder.Record(ctx, l.event, one)
	if err != nil {
		r.complaints.Error(ctx, l.room.cfg.Logger, "queue: the figures of a minute could not be kept", err)
		return
	}
	r.waits, r.laned = map[int]int64{}, 0
}

// begin takes what the others have seen.
func (r *record) begin(s State, samples []driver.Sample) {
	r.loaded, r.waits = true, map[int]int64{}
	for _, one := range samples {
		r.mark(min((one.Minute+1)*60_000, s.Now.UnixMilli()), one.Highest, one.Joined)
	}
}

// mark notes the highest order of a time, when so many had joined. Before the first mark
// is the beginning of the epoch, whose first order is its time in µs.
func (r *record) mark(at, order, joined int64) {
	if n := len(r.marks); order == 0 || n > 0 && (order <= r.marks[n-1].order || at < r.marks[n-1].at) {
		return
	}
	first := order - joined
	if began := first / 1000; len(r.marks) == 0 && began <= at && at-began < driver.KeepFigures.Milliseconds() {
		r.marks = append(r.marks, mark{began, first})
	}
	if len(r.marks) >= maxMarks { // every second one, so that older times are less exact
		for i := range maxMarks / 2 {
			r.marks[i] = r.marks[2*i+1]
		}
		r.marks = r.marks[:maxMarks/2]
	}
	r.marks = append(r.marks, mark{at, order})
}

// waited is how long ago an order was given out; false when this is not known.
func (r *record) waited(order, now int64) (time.Duration, bool) {
	i, _ := slices.BinarySearchFunc(r.marks, order, func(m mark, order int64) int { return cmp.Compare(m.order, order) })
	if i == 0 || len(r.marks) == 0 {
		return 0, false
	}
	low, high := r.marks[i-1], mark{now, order}
	if i < len(r.marks) {
		high = r.marks[i]
	}
	at := high.at
	if high.order > low.order {
		at = low.at + int64(float64(high.at-low.at)*float64(order-low.order)/float64(high.order-low.order))
	}
	return time.Duration(max(0, now-at)) * time.Millisecond, true
}
