package backoff

import "time"

// Poll determines a polling interval, for changes without a notification: short while changes
// are found, and longer the longer none was found. The interval is a tenth of the time since the
// last change, but at least Quick and at most Idle; so a change is found late by at most a tenth
// of the pause before it.
type Poll struct {
	Quick, Idle time.Duration

	last time.Time
}

// Met records that a poll found a change, or that polling begins.
func (p *Poll) Met() { p.last = time.Now() }

// Wait returns the wait before the next poll.
func (p *Poll) Wait() time.Duration {
	return min(max(p.Quick, time.Since(p.last)/10), p.Idle)
}
