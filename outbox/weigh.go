package outbox

import "time"

// weighed is what a failed attempt amounts to.
type weighed struct {
	others  bool // there is evidence that the publisher works
	age     time.Duration
	retries int
	spent   bool // the event is to be parked
	refused int  // how often its dead letter was refused
}

// weigh goes over the events that failed in this round: has each of them had
// its chances? A permanent error is an answer of the broker that will not change,
// so there is nothing to wait for. Else the age and the retries count, and only if
// there is evidence that the publisher works: others got through since the attempt
// before. Those that are parked leave a dead letter.
func (rd *round) weigh(confirmed int64) {
	seen := rd.s.r.confirmed.Load() + confirmed
	for i := range rd.w.lanes {
		for _, f := range rd.w.lanes[i].failing {
			if !f.tried {
				continue
			}
			it := &rd.w.items[f.item]
			f.weighed = weighed{others: seen > f.last.seen || f.permanent, age: it.Age, retries: it.Retries, refused: f.last.refused}
			if f.others && !f.last.at.IsZero() {
				f.age += f.at.Sub(f.last.at)
			}
			if f.others && it.Attempts > 0 {
				f.retries++
			}
			f.spent = f.permanent || rd.s.r.cfg.spent(f.weighed, it.Attempts)
			rd.bury(it, f)
		}
	}
}

// spent reports whether an event has had its chances that had been tried before the
// attempt which was weighed.
func (c *RelayConfig) spent(w weighed, before int) bool {
	tooOld := c.MaxAge >= 0 && before > 0 && w.age >= c.MaxAge
	tooOften := c.MaxRetries > 0 && w.retries >= c.MaxRetries
	return tooOld || tooOften
}

// earliest is the earlier of two times that may be zero.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
