package ratelimit

import (
	"time"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

// denial is a refusal that is valid until its retry time: calls of that size, or a larger one,
// need no call of the store.
type denial struct {
	size      int
	until     time.Duration
	reason    Reason
	remaining int
}

// denials of both priorities. The value is never changed, only replaced, so that a flood of
// refused callers reads it without a lock.
type denials [2][]denial

// find returns the refusal of n calls that is valid longest. A refusal for high priority is
// also one for low, which needs everything that high needs and more; the reverse is not true.
// If low has a share, only a refusal until the end of the day is valid for both: high leaves
// the share to a refused low call, so a low caller has to ask for itself.
func (d *denials) find(p Priority, n int, now time.Duration, share bool) (denial, bool) {
	var found denial
	for of := p; of <= High; of++ {
		for _, known := range d[of] {
			if of != p && share && known.reason != driver.ReasonDay {
				continue
			}
			if known.size <= n && known.until > now && known.until > found.until {
				found = known
			}
		}
	}
	return found, found.until > 0
}

// with returns the denials that are valid at the time, and one more. It keeps none that another
// one covers, so there are at most as many as sizes.
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
