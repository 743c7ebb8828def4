package queue

import (
	"sync"
	"time"
)

// patience is how long a store may be unreachable, or its clock jump, without the
// loss of more than a poll of a hidden tab: 30 s, unless admissions are that
// seldom.
func patience(tick time.Duration) time.Duration { return max(30*time.Second, 3*tick) }

// watch keeps an admitter from removing users who could not poll. After an outage
// of the store or of everything, and after a forward step of its clock, all waiting
// users look as if they were gone, until they had the time to poll.
type watch struct {
	mu      sync.Mutex
	reached time.Duration // on the room's clock: when the store last answered
	clock   time.Time     // and its reading
	since   time.Duration // from when on it has been there without a break
}

// answered records an answer of the store.
func (w *watch) answered(now time.Duration, clock time.Time, patience time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	passed := now - w.reached
	if w.clock.IsZero() || passed > patience || clock.Sub(w.clock)-passed > patience {
		w.since = now
	}
	w.reached, w.clock = now, clock
}

// wait is the time until the sweep may remove users; 0 when it may go on.
func (w *watch) wait(now, patience time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.clock.IsZero() || now-w.reached > patience {
		return time.Second // the next admission tells
	}
	return max(0, w.since+leastSeen-now)
}
