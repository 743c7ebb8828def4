package budget

import "github.com/millrace-go/millrace/ratelimit"

// share is the least share of low priority while a decision is made: a bucket that
// every call of low priority empties, as far as there is something in it. What it
// has is exempt from the yield, and high leaves it alone after low was refused.
type share struct {
	tokens int64
	rate   int64 // per µs, 0 when there is no share
	unit   int64 // of one call
	most   int64 // calls
}

// shareOf is empty. A rate of so many percent of calls per second, or per window of
// the strict mode, is as many hundredths per µs of what a call is divided into.
func shareOf(p *ratelimit.Plan) share {
	s := share{rate: int64(p.LowRate) * int64(p.LowShare), unit: 100 * micro, most: 2}
	if p.Strict {
		// A window can become free at once, and has all of the share then.
		s.unit, s.most = 100*p.Window.Microseconds(), int64(p.LowRate)*int64(p.LowShare)/100+1
	}
	return s
}

// at returns the share with what it had at a time, and what came since.
func (s share) at(then, tokens, now int64) share {
	if s.rate == 0 {
		return s
	}
	full := s.most * s.unit
	s.tokens = min(full, tokens)
	// Beyond this the product could leave the 53 bits.
	if elapsed := max(0, now-then); elapsed < ceilDiv(full, s.rate) {
		s.tokens = min(full, s.tokens+elapsed*s.rate)
	} else {
		s.tokens = full
	}
	return s
}

func (s *share) free() int64 { return s.tokens / s.unit }

func (s *share) take(n int64) { s.tokens = max(0, s.tokens-n*s.unit) }

// wait is how long it takes until the share has so many calls, in µs; never when it
// cannot have them.
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

// held is how many calls a call of high priority has to leave, so many µs from now.
func (d *decision) held(size, wait int64) int64 {
	if d.waits <= d.now+wait {
		return 0
	}
	later := d.share.at(d.now, d.share.tokens, d.now+wait)
	return max(0, min(later.free(), int64(d.plan.Burst)-size))
}

// heldWait is how long a call of high priority that is refused waits until it can be
// granted, with what it has to leave by then: the first time at which it can be, or
// the end of the hold.
func (d *decision) heldWait(size int64) int64 {
	wait, left := d.global.wait(size), int64(0)
	for more := d.held(size, wait); more > left; more = d.held(size, wait) {
		left = more
		wait = d.global.wait(size + left)
	}
	return min(wait, max(d.global.wait(size), d.waits-d.now))
}
