package limitproof

import (
	"fmt"
	"time"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

// outcome is one act as it was played.
type outcome struct {
	act      act
	plan     *driver.Plan
	measured span
	end      time.Duration // of the demand
	figures  figures
	done     done
	happened happened
}

// verdict on an outcome. A violation is final; a missed goal, or one that could not
// be measured, is worth another try.
type verdict struct {
	violations []string
	stalled    bool // the simulator took calls late: the fault is not the limiter's
	missed     []string
	notes      []string
}

// The goals of an act.
const (
	leastUse    = 0.99
	mostReserve = 100 * time.Millisecond
)

func (v verdict) ok() bool { return len(v.violations)+len(v.missed) == 0 && !v.stalled }

// decide compares an outcome with the promises of the limits.
func decide(c config, o outcome) verdict {
	var v verdict
	if o.figures.calls != int(o.done.Written) {
		v.miss("the workers wrote %d calls, and the upstream saw %d", o.done.Written, o.figures.calls)
	}
	if o.happened.note != "" {
		v.note("%s", o.happened.note)
	}
	if o.act.wants.broken {
		v.broken(c, o)
		return v
	}
	v.limits(c, o)
	v.outages(c, o)
	v.goals(c, o)
	if o.done.Collections > 0 && o.act.key == "gc" {
		v.note("%d collections; the longest pause of a world lasted %v", o.done.Collections, o.done.Pause.Round(100*time.Microsecond))
	}
	return v
}

// limits judges by the send times of calls, which do not depend on the simulator.
func (v *verdict) limits(c config, o outcome) {
	f := o.figures
	if f.sent > c.hard {
		v.violate("%d calls were sent within a second; the limit is %d", f.sent, c.hard)
	} else if f.arrived > c.hard {
		v.stalled = true
	}
	if most := lowBound(c, o, time.Second, min(1, o.happened.forward)); f.low1 > most {
		v.violate("%d low calls were sent within a second; the arithmetic allows %d", f.low1, most)
	}
	most := lowBound(c, o, longWindow, o.happened.forward)
	if f.lowLong > most {
		v.violate("%d low calls were sent within %v; the arithmetic allows %d", f.lowLong, longWindow, most)
	}
	if f.high == 0 {
		v.note("at most %d calls within %v, or %.1f/s; the arithmetic allows %d", f.lowLong, longWindow, float64(f.lowLong)/longWindow.Seconds(), most)
	}
}

// lowBound is the arithmetic of [ratelimit.Limits] for low priority: the grants of
// the bucket within a window, which a call can leave late; once more the burst for
// each step of the clock.
func lowBound(c config, o outcome, within time.Duration, steps int) int {
	refilled := (int64(c.low)*int64(within+o.plan.Delay) + int64(time.Second) - 1) / int64(time.Second)
	return o.plan.LowBurst*(1+steps) + int(refilled) + c.workers
}

// outages looks for calls that cannot have had a permit: the permits of the last
// moment expire within Delay, and each process may be late with one.
func (v *verdict) outages(c config, o outcome) {
	for i, away := range o.happened.away {
		n := o.figures.sentWithin(span{away.from + o.plan.Delay, away.to})
		if n > c.workers {
			v.violate("%d calls were sent while Redis was away", n)
		}
		to := o.end
		if i+1 < len(o.happened.away) {
			to = o.happened.away[i+1].from
		}
		first, ok := o.figures.firstSent(span{away.to, to})
		if !ok {
			v.miss("no call was made after Redis was back")
			continue
		}
		v.note("Redis away for %v: %d calls meanwhile; the next %v after it was started again", (away.to - away.from).Round(time.Millisecond), n, (first - away.to).Round(time.Millisecond))
	}
}

func (v *verdict) goals(c config, o outcome) {
	f, w := o.figures, o.act.wants
	if _, ok := f.firstSent(span{o.end - time.Second, o.end}); !ok {
		v.miss("no call was made in the last second")
	}
	if use := (f.high + f.low) / float64(c.rate); w.use && use < leastUse {
		v.miss("%.1f %% of the rate was used", 100*use)
	}
	if !w.reserve {
		return
	}
	after := behind(f.highArrived, o.done.FirstHigh, o.end, c.reserve())
	v.note("low: %d asked for, %d refused, %d calls of Redis for it all; high: from %v after its first ask never behind its %d/s, the slowest answered after %v",
		o.done.Asked, o.done.Refused, o.done.Trips, after.Round(100*time.Microsecond), c.reserve(), o.done.Slowest.Round(100*time.Microsecond))
	if o.done.FirstHigh == 0 || after > mostReserve {
		v.miss("high had its reserve after %v, which is more than %v", after.Round(time.Millisecond), mostReserve)
	}
}

// broken expects the violation.
func (v *verdict) broken(c config, o outcome) {
	if _, err := wishfulBudget(c).Plan(); err != nil {
		v.note("%v", err)
		v.note("so it was told that the limit is %d", o.act.limits(c).HardLimit)
	} else {
		v.miss("ratelimit accepts a burst of %d", c.rate)
	}
	if o.figures.sent <= c.hard {
		v.miss("the broken arithmetic was not noticed: at most %d calls were sent within a second", o.figures.sent)
		return
	}
	v.note("%d calls too many", o.figures.above)
}

func (v *verdict) violate(format string, args ...any) {
	v.violations = append(v.violations, fmt.Sprintf(format, args...))
}
func (v *verdict) miss(format string, args ...any) {
	v.missed = append(v.missed, fmt.Sprintf(format, args...))
}
func (v *verdict) note(format string, args ...any) {
	v.notes = append(v.notes, fmt.Sprintf(format, args...))
}
