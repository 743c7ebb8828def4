package budget

import (
	"github.com/millrace-go/millrace/ratelimit/driver"
)

// share is the least share of low priority during a decision: a bucket from which every call of
// low priority takes, as far as it has content. Its content is exempt from the yield, and high
// leaves it free after low was refused.
type share struct {
	tokens int64
	rate   int64 // per µs, 0 when there is no share
	unit   int64 // of one call
	most   int64 // calls
}

// shareOf returns an empty share. A rate of percent of calls per second, or per window in
// strict mode, is the same number of hundredths per µs of a call's unit.
func shareOf(p *driver.Plan) share {
	s := share{rate: int64(p.LowRate) * int64(p.LowShare), unit: 100 * micro, most: 2}
	if p.Strict {
		// A window can become free at once, and then has the whole share.
		s.unit, s.most = 100*p.Window.Microseconds(), int64(p.LowRate)*int64(p.LowShare)/100+1
	}
	return s
}

// at returns the share with its content at a time plus the refill since.
func (s share) at(then, tokens, now int64) share {
	if s.rate == 0 {
		return s
	}
	full := s.most * s.unit
	s.tokens = min(full, tokens)
	// Beyond this the product could exceed 53 bits.
	if elapsed := max(0, now-then); elapsed < ceilDiv(full, s.rate) {
		s.tokens = min(full, s.tokens+elapsed*s.rate)
	} else {
		s.tokens = full
	}
	return s
}

func (s *share) free() int64 { return s.tokens / s.unit }

func (s *share) take(n int64) { s.tokens = max(0, s.tokens-n*s.unit) }

// wait returns the time until the share has so many calls, in µs; never if it cannot have them.
func (s *share) wait(size int64) int64 {
	missing := size*s.unit - s.tokens
	switch {
	case missing <= 0:
		return 0
	case s.rate == 0 || size > s.most:
		return never
	}
	return ceilDiv(missing, s.rate)
}

// never is longer than any wait, in µs.
const never = int64(1) << 52

// held returns how many calls a call of high priority has to leave free, so many µs from now.
func (d *decision) held(size, wait int64) int64 {
	if d.waits <= d.now+wait {
		return 0
	}
	later := d.share.at(d.now, d.share.tokens, d.now+wait)
	return max(0, min(later.free(), int64(d.plan.Burst)-size))
}

// heldWait returns how long a refused call of high priority waits until it can be granted,
// including the calls that it has to leave free by then: the first time at which it can be
// granted, or the end of the hold.
func (d *decision) heldWait(size int64) int64 {
	wait, left := d.global.wait(size), int64(0)
	for more := d.held(size, wait); more > left; more = d.held(size, wait) {
		left = more
		wait = d.global.wait(size + left)
	}
	return min(wait, max(d.global.wait(size), d.waits-d.now))
}
