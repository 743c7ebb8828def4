package budget

import (
	"time"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

// account is a bucket or a window during a decision.
type account interface {
	free() int64           // how many can be granted
	take(n int64)          // charges n
	wait(size int64) int64 // time until a call of the size can be granted, µs; 0 if it can be now
}

// decision is an Acquire in progress.
type decision struct {
	plan        *driver.Plan
	now         int64
	behind      int64 // how far the clock is behind now
	today       tally
	yield       int64 // low priority is refused before this time, except for its share
	waits       int64 // high priority leaves the share free before this time
	share       share
	global, low account
	taken       [2]int64 // by priority
}

// decide grants as many calls of each run as possible, in their order.
func (d *decision) decide(runs []driver.Run) driver.Grant {
	g := driver.Grant{Runs: make([]driver.RunGrant, len(runs)), At: d.now}
	for i, run := range runs {
		g.Runs[i] = d.run(run)
	}
	g.Remaining[driver.High] = int(max(0, d.global.free()-d.held(1, 0)))
	g.Remaining[driver.Low] = int(min(d.global.free(), d.low.free()))
	if d.yield > d.now {
		g.Remaining[driver.Low] = int(min(int64(g.Remaining[driver.Low]), d.share.free()))
	}
	if d.today.limited() {
		g.Day = d.today.DayCount
		for p := range g.Remaining {
			g.Remaining[p] = int(min(int64(g.Remaining[p]), d.today.room(driver.Priority(p))))
		}
	}
	return g
}

// run charges the calls that fit. Consecutive calls of one size are granted until one is
// refused, so their number is a division.
func (d *decision) run(run driver.Run) driver.RunGrant {
	size, count := int64(run.Size), int64(run.Count)
	isLow := run.Priority == driver.Low
	free := d.global.free()
	if !isLow {
		free = max(0, free-d.held(size, 0))
	}
	n := min(count, free/size)
	if isLow {
		if n = min(n, d.low.free()/size); d.yield > d.now {
			n = min(n, d.share.free()/size)
		}
	}
	if d.today.limited() {
		n = min(n, d.today.room(run.Priority)/size)
	}
	if n > 0 {
		d.global.take(n * size)
		if isLow {
			d.low.take(n * size)
			d.share.take(n * size)
		}
		d.today.Used += n * size
		d.taken[run.Priority] += n * size
	}
	var why refusal
	if n < count {
		why = d.why(run, size)
	} else if run.Wait && !isLow {
		d.yield = 0
	}
	return driver.RunGrant{Granted: int(n), Reason: why.reason, RetryAfter: time.Duration(why.wait) * time.Microsecond}
}

// why finds the reason of a refusal. It makes low priority yield to a waiting call of high
// priority, and high priority leave the share free for a refused call of low.
func (d *decision) why(run driver.Run, size int64) (why refusal) {
	dayLeft := !d.today.limited() || d.today.room(run.Priority) >= size
	if !dayLeft {
		why.because(driver.ReasonDay, d.today.end()-d.now+d.behind)
	}
	if wait := d.global.wait(size); wait > 0 {
		why.because(driver.ReasonGlobal, wait+d.behind)
		if run.Wait && run.Priority == driver.High && dayLeft {
			d.yield = d.now + d.plan.Yield.Microseconds()
		}
	}
	if run.Priority == driver.Low {
		capped := d.low.wait(size)
		if capped > 0 {
			why.because(driver.ReasonLowCap, capped+d.behind)
		}
		if d.yield > d.now {
			if wait := min(d.yield-d.now, d.share.wait(size)); wait > 0 {
				why.because(driver.ReasonYield, wait+d.behind)
			}
		}
		if dayLeft && capped == 0 && d.share.rate > 0 && size <= d.share.most {
			d.waits = d.now + why.wait - d.behind + d.plan.Hold.Microseconds()
		}
	} else if wait := d.heldWait(size); wait > 0 {
		why.because(driver.ReasonLowShare, wait+d.behind)
	}
	return why
}

// keepDay stores the count of the day if it grew.
func (d *decision) keepDay(day *Day) {
	if d.today.limited() && d.taken[driver.Low]+d.taken[driver.High] > 0 {
		*day = Day{Known: true, DayCount: d.today.DayCount}
	}
}

// refusal collects the reasons of a refusal: the one that lasts longest, and its duration in
// µs.
type refusal struct {
	reason driver.Reason
	wait   int64
}

func (r *refusal) because(reason driver.Reason, wait int64) {
	if wait > r.wait {
		r.reason, r.wait = reason, wait
	}
}
