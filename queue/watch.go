package queue

import (
	"sync"
	"time"
)

// patience is for how long a store may be away, or its clock jump, without
// anybody's missing more than a poll of a hidden tab: 30 s, unless admissions are
// that seldom.
func patience(tick time.Duration) time.Duration { return max(30*time.Second, 3*tick) }

// watch keeps an admitter from removing people of an event who could not be heard
// of: after a time in which the store could not be reached, as after a failure of
// everything, and after a forward step of its clock, all who wait look as if they
// were gone, until they had the time to poll.
type watch struct {
	mu      sync.Mutex
	reached time.Duration // on the room's clock: when the store last answered
	clock   time.Time     // and what it said the time was
	since   time.Duration // from when on it has been there without a break
}

// answered notes an answer of the store.
func (w *watch) answered(now time.Duration, clock time.Time, patience time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	passed := now - w.reached
	if w.clock.IsZero() || passed > patience || clock.Sub(w.clock)-passed > patience {
		w.since = now
	}
	w.reached, w.clock = now, clock
}

// wait says for how long nobody is to be removed yet; 0 when the sweep may go on.
func (w *watch) wait(now, patience time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.clock.IsZero() || now-w.reached > patience {
		return time.Second // the next admission tells
	}
	return max(0, w.since+leastSeen-now)
}
