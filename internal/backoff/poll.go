package backoff

import "time"

// Poll is how often to look for what nothing tells of: at once again while things
// come, and the less often the longer nothing has come. A look comes after a tenth of
// that time, but not sooner than after Quick and not later than after Idle; so what
// comes is late by a tenth of the pause before it, at most.
type Poll struct {
	Quick, Idle time.Duration

	last time.Time
}

// Met notes that a look found something, or that looking begins.
func (p *Poll) Met() { p.last = time.Now() }

// Wait is how long to wait for the next look.
func (p *Poll) Wait() time.Duration {
	return min(max(p.Quick, time.Since(p.last)/10), p.Idle)
}
