package budget

import (
	"slices"
	"sort"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

// Windows is the state of a strict budget; the zero value means missing state.
type Windows struct {
	Server string
	Time   int64 // of the last change, µs
	Yield  int64 // low priority is refused before this time, except for its share
	Share  int64 // the content of low priority's share at Time
	Waits  int64 // high priority leaves the share free before this time
	Global Ring
	Low    Ring
}

// Ring holds the times of the last grants. The entry of the i-th grant since the ring began is
// at i modulo Size; those from Tail to Count are in the window, the oldest first.
type Ring struct {
	Size        int64 // the number of entries; 0 when the ring is missing
	Born        int64 // when it began; it blocks for a window, µs
	Tail, Count int64
	Times       []int64 // as far as they were ever written
}

// at returns the time of the i-th grant.
func (r *Ring) at(i int64) int64 { return r.Times[i%r.Size] }

// put writes the entries from the i-th on.
func (r *Ring) put(i int64, times ...int64) {
	for n, t := range times {
		place := (i + int64(n)) % r.Size
		if missing := place + 1 - int64(len(r.Times)); missing > 0 {
			r.Times = append(r.Times, make([]int64, missing)...)
		}
		r.Times[place] = t
	}
}

// view is a ring during a decision.
type view struct {
	ring   *Ring
	tail   int64 // the oldest entry in the window
	count  int64 // including the grants of this decision
	most   int64
	window int64
	now    int64
	keep   bool
}

// look begins a decision. A ring that is missing, or too small for the plan, is replaced by a
// new one.
func (r *Ring) look(now int64, most int, window int64) view {
	v := view{ring: r, most: int64(most), window: window, now: now}
	if r.Size < v.most {
		*r = Ring{Size: v.most, Born: now}
		v.keep = true
	}
	old := sort.Search(int(r.Count-r.Tail), func(i int) bool { return r.at(r.Tail+int64(i)) > now-window })
	v.tail, v.count = r.Tail+int64(old), r.Count
	return v
}

func (v *view) free() int64 {
	if v.now-v.ring.Born < v.window {
		return 0
	}
	return max(0, v.most-(v.count-v.tail))
}

func (v *view) wait(size int64) int64 {
	wait := v.ring.Born + v.window - v.now
	if need := v.count - v.tail + size - v.most; need > 0 {
		oldest := v.now // granted in this decision
		if i := v.tail + need - 1; i < v.ring.Count {
			oldest = v.ring.at(i)
		}
		wait = max(wait, oldest+v.window-v.now)
	}
	return max(0, wait)
}

func (v *view) take(n int64) {
	v.count += n
	v.keep = v.keep || n > 0
}

// store writes the decision into the ring.
func (v *view) store() {
	if !v.keep {
		return
	}
	r := v.ring
	r.put(r.Count, slices.Repeat([]int64{v.now}, int(v.count-r.Count))...)
	r.Tail, r.Count = v.tail, v.count
}

// Acquire decides the runs, one call after the other, like the Acquire of [Buckets].
func (w *Windows) Acquire(p *driver.Plan, ask driver.Ask, day *Day, m Moment) driver.Grant {
	now := m.Now
	if m.follows(w.Server, w.Time) && w.Global.Size >= int64(p.Rate) {
		now = max(now, w.Time)
	} else {
		*w = Windows{Server: m.Server, Time: now}
	}
	window := p.Window.Microseconds()
	global := w.Global.look(now, p.Rate, window)
	low := w.Low.look(now, p.LowRate, window)
	d := decision{plan: p, now: now, behind: now - m.Now, today: day.tally(p.Day, ask.Day, now), yield: w.Yield, global: &global, low: &low,
		waits: w.Waits, share: shareOf(p).at(w.Time, w.Share, now)}
	g := d.decide(ask.Runs)
	if global.keep || d.yield != w.Yield || d.waits != w.Waits {
		global.keep = true
		w.Time, w.Yield, w.Share, w.Waits = now, d.yield, d.share.tokens, d.waits
	}
	global.store()
	low.store()
	d.keepDay(day)
	return g
}

// Return removes the entries of a permit.
func (w *Windows) Return(p *driver.Plan, r driver.Returned, day *Day, m Moment) {
	if !m.follows(w.Server, w.Time) {
		return
	}
	now := max(m.Now, w.Time)
	size, isLow := int64(r.Size), r.Priority == driver.Low
	if !returnable(p, r.At, w.Global.Born, now) || !w.Global.holds(r.At, size) ||
		isLow && !w.Low.holds(r.At, size) {
		return
	}
	w.Global.remove(r.At, size)
	if isLow {
		w.Low.remove(r.At, size)
	}
	day.giveBack(p.Day, r, now)
}

// after returns the first entry that is newer than a time.
func (r *Ring) after(at int64) int64 {
	return r.Tail + int64(sort.Search(int(r.Count-r.Tail), func(i int) bool { return r.at(r.Tail+int64(i)) > at }))
}

// holds reports whether there are so many entries of a time.
func (r *Ring) holds(at, size int64) bool {
	first := r.after(at) - size
	return first >= r.Tail && r.at(first) == at
}

// remove removes so many entries of a time and moves the newer ones up.
func (r *Ring) remove(at, size int64) {
	for i := r.after(at); i < r.Count; i++ {
		r.put(i-size, r.at(i))
	}
	r.Count -= size
}
