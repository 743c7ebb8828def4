package outbox

import "time"

// weighed is the result of a failed attempt.
type weighed struct {
	others  bool // there is evidence that the publisher works
	age     time.Duration
	retries int
	spent   bool // park the event
	refused int  // how often its dead letter was refused
}

// weigh decides for each event that failed in this round whether to park it. A permanent error
// is an answer of the broker that will not change, so the event is parked at once. Otherwise
// the age and the retries count, but only with evidence that the publisher works: other events
// were published since the attempt before. A parked event leaves a dead letter.
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

// spent reports whether an event has used up its age or its retries; before is the number of
// attempts before the weighed one.
func (c *RelayConfig) spent(w weighed, before int) bool {
	tooOld := c.MaxAge >= 0 && before > 0 && w.age >= c.MaxAge
	tooOften := c.MaxRetries > 0 && w.retries >= c.MaxRetries
	return tooOld || tooOften
}

// earliest returns the earlier of two times that may be zero.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
