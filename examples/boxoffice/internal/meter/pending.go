package meter

import "sync"

// maxPending is how many seconds late the write of a process may be.
const maxPending = 16

// pending has the counts that are not written yet, in the order of their seconds.
type pending struct {
	mu      sync.Mutex
	seconds []Second
}

// add counts calls, and returns the number of those that are dropped: of the oldest
// second, if it was not taken in time.
func (p *pending) add(s Second) (dropped int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.seconds); n > 0 && p.seconds[n-1].Unix == s.Unix {
		p.seconds[n-1].High += s.High
		p.seconds[n-1].Low += s.Low
		return 0
	}
	p.seconds = append(p.seconds, s)
	if len(p.seconds) <= maxPending {
		return 0
	}
	oldest := p.seconds[0]
	p.seconds = p.seconds[1:]
	return oldest.High + oldest.Low
}

// take empties it.
func (p *pending) take() []Second {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.seconds
	p.seconds = nil
	return all
}
