package ratelimit

import "time"

// denial is a refusal that holds until its retry time: a call of that size, or
// a larger one, need not be asked for.
type denial struct {
	size      int
	until     time.Duration
	reason    Reason
	remaining int
}

// denials of both priorities. It is never changed, only replaced, so that a
// flood of refused callers reads it without a lock.
type denials [2][]denial

// find returns the refusal of n calls that holds longest. What is refused to
// high priority is refused to low, which needs all that high does and more; never
// the other way round. Where low has a share, only the end of the day is refused to
// both: high leaves the share to a low call that the store has refused, so that one
// has to ask.
func (d *denials) find(p Priority, n int, now time.Duration, share bool) (denial, bool) {
	var found denial
	for of := p; of <= High; of++ {
		for _, known := range d[of] {
			if of != p && share && known.reason != ReasonDay {
				continue
			}
			if known.size <= n && known.until > now && known.until > found.until {
				found = known
			}
		}
	}
	return found, found.until > 0
}

// with returns the denials that hold at the time, and one more. It keeps none
// that another one covers, so there are at most as many as sizes.
func (d *denials) with(p Priority, more denial, now time.Duration) *denials {
	var next denials
	for of, list := range d {
		for _, known := range list {
			covered := Priority(of) == p && more.size <= known.size && more.until >= known.until
			if known.until > now && !covered {
				next[of] = append(next[of], known)
			}
		}
	}
	next[p] = append(next[p], more)
	return &next
}
