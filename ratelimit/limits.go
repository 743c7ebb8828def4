package ratelimit

import (
	"fmt"
	"time"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

// Limits are the limits of the upstream and the part of them to use. HardLimit and Rate are
// required.
type Limits struct {
	// HardLimit is how many calls the upstream accepts in any second, wherever the second
	// begins. The limiter never exceeds it.
	HardLimit int
	// Rate is how many calls per second all priorities use together. In strict mode it is the
	// number of calls in any window of 1 s + Delay.
	Rate int
	// LowRate is how many of them low priority may use; Rate by default. High priority keeps at
	// least the difference.
	LowRate int
	// LowShare is the percentage of LowRate that low priority gets at least, even under a flood
	// of high priority; nil is 5. new(0) turns it off: low can then starve. HardLimit and the
	// reserve of high are not affected. It needs a Burst of 2.
	LowShare *int
	// Delay bounds the time between a grant and the arrival of its call at the upstream; 20 ms
	// by default. A permit expires after Delay - Transit. A longer Delay tolerates a slower
	// process and costs burst.
	Delay time.Duration
	// Transit is the part of Delay that a call may spend on the network after its write; 0 by
	// default, for a network with a constant delay.
	Transit time.Duration
	// Processes is how many processes share the budget, at most; 1 by default. Each of them may
	// be stopped between its last check of the clock and the write of one call.
	Processes int
	// Burst is how many calls can be granted at once after a pause; by default the most that
	// HardLimit allows, and not more than Rate. Unused in strict mode.
	Burst int
	// LowBurst is the same for low priority; by default Burst*LowRate/Rate, at least 1. After a
	// flood of low, the difference to Burst is available for high priority. Unused in strict
	// mode.
	LowBurst int
	// ClockSteps says that the store's clock may be set forward while in use, at most once
	// within a second plus Delay, which fills the buckets once more; it halves the burst.
	// Without ClockSteps, a step of the clock can break HardLimit for a second. Refused in
	// strict mode, which cannot cover steps.
	ClockSteps bool
	// Strict grants at most Rate calls in any window of 1 s + Delay, all of which can be used,
	// instead of a steady rate with a burst.
	Strict bool
	// DayLimit is a second budget: how many calls a day has; 0, the default, for none.
	DayLimit int64
	// DayHighReserve is how many of them low priority leaves to high; 0 by default.
	DayHighReserve int64
	// DayOffset is the beginning of the upstream's day, after midnight UTC: between -24 h and
	// 24 h, 0 by default.
	DayOffset time.Duration
}

// defaultDelay leaves a burst of 41 - Processes at 450 calls per second of 500.
const defaultDelay = 20 * time.Millisecond

// yield is longer than a waiting process takes to ask again.
const yield = 20 * time.Millisecond

// hold is longer than a waiting process takes to ask again for low priority.
const hold = 150 * time.Millisecond

// defaultLowShare is the LowShare when it is nil, in percent.
const defaultLowShare = 5

// Plan checks the limits and derives the capacities. An error shows the arithmetic and limits
// that would hold.
//
// A bucket of capacity C that is refilled with R per second grants at most C + R*W within W. A
// call arrives up to Delay after its grant, hence the calls of one second were granted within
// 1 s + Delay; and each process can be late with one more: C + R*(1 s + Delay) + Processes <=
// HardLimit.
func (l Limits) Plan() (*driver.Plan, error) {
	l = l.withDefaults()
	if err := l.validate(); err != nil {
		return nil, err
	}
	p := &driver.Plan{
		Strict: l.Strict, Rate: l.Rate, LowRate: l.LowRate, Burst: l.Burst, LowBurst: l.LowBurst,
		Window: time.Second + l.Delay, Delay: l.Delay, UseFor: l.Delay - l.Transit, Yield: yield,
		LowShare: *l.LowShare, Hold: hold,
		Day: driver.DayLimit{Limit: l.DayLimit, HighReserve: l.DayHighReserve, Offset: l.DayOffset},
	}
	if l.Strict {
		return p, l.planStrict(p)
	}
	return p, l.planBuckets(p)
}

func (l Limits) planStrict(p *driver.Plan) error {
	p.Burst, p.LowBurst = l.Rate, l.LowRate
	sum := l.Rate + l.Processes
	p.Arithmetic = fmt.Sprintf("Rate %d + Processes %d = %d <= HardLimit %d, in any window of 1 s + Delay %s",
		l.Rate, l.Processes, sum, l.HardLimit, l.Delay)
	if sum > l.HardLimit {
		return fmt.Errorf("ratelimit: Limits cannot hold HardLimit: Rate %d + Processes %d = %d > HardLimit %d; Rate can be at most %d",
			l.Rate, l.Processes, sum, l.HardLimit, l.HardLimit-l.Processes)
	}
	return nil
}

func (l Limits) planBuckets(p *driver.Plan) error {
	// The calls of the window besides the burst, rounded up.
	steady := ceilDiv(int64(l.Rate)*int64(time.Second+l.Delay), int64(time.Second))
	times := int64(1)
	if l.ClockSteps {
		times = 2
	}
	most := (int64(l.HardLimit) - steady - int64(l.Processes)) / times
	explain := func(burst int64) string {
		factor := ""
		if times == 2 {
			factor = "2 (ClockSteps) * "
		}
		return fmt.Sprintf("%sBurst %d + Rate %d * (1 s + Delay %s) + Processes %d = %d",
			factor, burst, l.Rate, l.Delay, l.Processes, times*burst+steady+int64(l.Processes))
	}
	switch {
	case most < 1:
		return fmt.Errorf("ratelimit: Limits cannot hold HardLimit: %s > HardLimit %d even with the least burst; lower Rate, Delay or Processes",
			explain(1), l.HardLimit)
	case int64(l.Burst) > most:
		return fmt.Errorf("ratelimit: Limits cannot hold HardLimit: %s > HardLimit %d; Burst can be at most %d, or 0 to have it derived",
			explain(int64(l.Burst)), l.HardLimit, most)
	}
	if p.Burst == 0 {
		p.Burst = int(min(most, int64(l.Rate)))
	}
	if p.LowBurst == 0 {
		p.LowBurst = max(1, int(int64(p.Burst)*int64(l.LowRate)/int64(l.Rate)))
	}
	if p.LowBurst > p.Burst {
		return fmt.Errorf("ratelimit: Limits.LowBurst %d is above Burst %d; give at most as much, or 0 to have it derived", p.LowBurst, p.Burst)
	}
	p.Arithmetic = explain(int64(p.Burst)) + fmt.Sprintf(" <= HardLimit %d", l.HardLimit)
	return nil
}

func (l Limits) withDefaults() Limits {
	if l.LowRate == 0 {
		l.LowRate = l.Rate
	}
	if l.LowShare == nil {
		l.LowShare = new(defaultLowShare)
	}
	if l.Delay == 0 {
		l.Delay = defaultDelay
	}
	if l.Processes == 0 {
		l.Processes = 1
	}
	return l
}

// maxRate and maxDay keep the arithmetic of the stores within 53 bits, the exact range of Lua's
// numbers.
const (
	maxRate = 1_000_000
	maxDay  = 1_000_000_000_000_000
)

func (l Limits) validate() error {
	switch {
	case l.HardLimit < 1 || l.HardLimit > maxRate:
		return fmt.Errorf("ratelimit: Limits.HardLimit is %d calls per second; give 1 to %d", l.HardLimit, maxRate)
	case l.Rate < 1 || l.Rate > l.HardLimit:
		return fmt.Errorf("ratelimit: Limits.Rate is %d calls per second; give 1 to HardLimit, %d", l.Rate, l.HardLimit)
	case l.LowRate < 1 || l.LowRate > l.Rate:
		return fmt.Errorf("ratelimit: Limits.LowRate is %d calls per second; give 1 to Rate, %d, or 0 for Rate", l.LowRate, l.Rate)
	case *l.LowShare < 0 || *l.LowShare > 100:
		return fmt.Errorf("ratelimit: Limits.LowShare is %d percent of LowRate; give new(0), for none, to new(100), or nil for %d", *l.LowShare, defaultLowShare)
	case l.Delay < time.Millisecond || l.Delay > time.Minute:
		return fmt.Errorf("ratelimit: Limits.Delay is %s; give 1 ms to 1 min, or 0 for %s", l.Delay, defaultDelay)
	case l.Transit < 0 || l.Transit >= l.Delay:
		return fmt.Errorf("ratelimit: Limits.Transit is %s; give 0 or more, and less than Delay, %s", l.Transit, l.Delay)
	case l.Processes < 0:
		return fmt.Errorf("ratelimit: Limits.Processes is %d; give at least 1, or 0 for 1", l.Processes)
	case l.Burst < 0:
		return fmt.Errorf("ratelimit: Limits.Burst is %d; give at least 1, or 0 to have it derived", l.Burst)
	case l.LowBurst < 0:
		return fmt.Errorf("ratelimit: Limits.LowBurst is %d; give at least 1, or 0 to have it derived", l.LowBurst)
	case l.Strict && l.ClockSteps:
		return fmt.Errorf("ratelimit: Limits.ClockSteps cannot be had with Strict: a window of the store's clock cannot cover a step forward; use the buckets, or a clock that is slewed")
	case l.Strict && (l.Burst != 0 || l.LowBurst != 0):
		return fmt.Errorf("ratelimit: Limits.Burst and LowBurst have no meaning with Strict; leave them 0")
	}
	return l.validateDay()
}

func (l Limits) validateDay() error {
	switch {
	case l.DayLimit < 0 || l.DayLimit > maxDay:
		return fmt.Errorf("ratelimit: Limits.DayLimit is %d; give 1 to %d, or 0 for no limit", l.DayLimit, int64(maxDay))
	case l.DayHighReserve < 0 || l.DayHighReserve > l.DayLimit:
		return fmt.Errorf("ratelimit: Limits.DayHighReserve is %d; give 0 to DayLimit, %d", l.DayHighReserve, l.DayLimit)
	case l.DayOffset <= -24*time.Hour || l.DayOffset >= 24*time.Hour:
		return fmt.Errorf("ratelimit: Limits.DayOffset is %s; give less than a day", l.DayOffset)
	}
	return nil
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
