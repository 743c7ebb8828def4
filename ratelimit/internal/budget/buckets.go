package budget

import (
	"github.com/millrace-go/millrace/ratelimit/driver"
)

// Buckets is the state of a budget in buckets; the zero value means missing state.
type Buckets struct {
	Server string
	Born   int64 // when the buckets were empty for the first time, µs
	Global Bucket
	Yield  int64 // low priority is refused before this time, except for its share
	Share  int64 // the content of low priority's share at the time of Global
	Waits  int64 // high priority leaves the share free before this time
	HasLow bool
	Low    Bucket
}

// Bucket is the content of a bucket at a time.
type Bucket struct {
	Time   int64 // µs
	Tokens int64 // millionths
}

// at returns the tokens at a later time.
func (b Bucket) at(now int64, rate, burst int) int64 {
	full := int64(burst) * micro
	// Beyond this the product could exceed 53 bits.
	if elapsed := max(0, now-b.Time); elapsed < ceilDiv(full, int64(rate)) {
		return min(full, b.Tokens+elapsed*int64(rate))
	}
	return full
}

// level holds the tokens during a decision.
type level struct {
	tokens int64
	rate   int64
}

func (l *level) free() int64 { return l.tokens / micro }

func (l *level) take(n int64) { l.tokens -= n * micro }

func (l *level) wait(size int64) int64 {
	if missing := size*micro - l.tokens; missing > 0 {
		return ceilDiv(missing, l.rate)
	}
	return 0
}

// Acquire decides the runs, one call after the other. It only stores changes made by a grant, a
// start or a change of the yield.
func (b *Buckets) Acquire(p *driver.Plan, ask driver.Ask, day *Day, m Moment) driver.Grant {
	now := m.Now
	keepGlobal, keepLow := false, false
	if m.follows(b.Server, b.Global.Time) {
		now = max(now, b.Global.Time)
	} else {
		*b = Buckets{Server: m.Server, Born: now, Global: Bucket{Time: now}}
		keepGlobal = true
	}
	if !b.HasLow {
		b.HasLow, b.Low = true, Bucket{Time: now}
		keepLow = true
	}
	global := level{b.Global.at(now, p.Rate, p.Burst), int64(p.Rate)}
	low := level{b.Low.at(now, p.LowRate, p.LowBurst), int64(p.LowRate)}
	d := decision{plan: p, now: now, behind: now - m.Now, today: day.tally(p.Day, ask.Day, now), yield: b.Yield, global: &global, low: &low,
		waits: b.Waits, share: shareOf(p).at(b.Global.Time, b.Share, now)}
	g := d.decide(ask.Runs)
	if d.taken[driver.Low]+d.taken[driver.High] > 0 || d.yield != b.Yield || d.waits != b.Waits || keepGlobal {
		b.Global, b.Yield, b.Share, b.Waits = Bucket{now, global.tokens}, d.yield, d.share.tokens, d.waits
	}
	if d.taken[driver.Low] > 0 || keepLow {
		b.Low = Bucket{now, low.tokens}
	}
	d.keepDay(day)
	return g
}

// Return gives a permit back; see the package's doc for how much of it.
func (b *Buckets) Return(p *driver.Plan, r driver.Returned, day *Day, m Moment) {
	if !m.follows(b.Server, b.Global.Time) {
		return
	}
	now := max(m.Now, b.Global.Time)
	if !returnable(p, r.At, b.Born, now) {
		return
	}
	b.Share = shareOf(p).at(b.Global.Time, b.Share, now).tokens
	b.Global = b.Global.filled(now, p.Rate, p.Burst, r)
	if r.Priority == driver.Low && b.HasLow {
		b.Low = b.Low.filled(now, p.LowRate, p.LowBurst, r)
	}
	day.giveBack(p.Day, r, now)
}

// filled returns the bucket after a permit was given back.
func (b Bucket) filled(now int64, rate, burst int, r driver.Returned) Bucket {
	give := max(0, int64(r.Size)*micro-(now-r.At)*int64(rate))
	return Bucket{now, min(int64(burst)*micro, b.at(now, rate, burst)+give)}
}
