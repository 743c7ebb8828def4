package frontgate

import (
	"time"

	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// shows measures which share of the served positions show up in the line, so that a
// round can expect Config.Step arrivals: unused positions delay no visitor for long.
type shows struct {
	seen []show // of the last rounds, the oldest first
	by   int64  // of the next round; 0 for Config.Step
}

// show is a moment of gate and line.
type show struct {
	at              time.Time
	serving, joined int64
	gate, line      uint64 // epochs
}

const (
	// shown is over how many rounds the share is taken.
	shown = 6
	// most bounds a round, as a multiple of Config.Step: so many may arrive at once
	// where the positions after unused ones are all used. The line's threshold holds
	// in any case.
	most = 8
)

// add takes a moment of a round in, at most one for each half of a round. A line
// that says nothing, and another gate or line, start from zero.
func (s *shows) add(now show, step int64, every time.Duration) {
	if n := len(s.seen); n > 0 {
		last := s.seen[n-1]
		switch {
		case now.line == 0 || now.gate != last.gate || now.line != last.line || now.serving < last.serving || now.joined < last.joined:
			*s = shows{}
		case now.at.Sub(last.at) < every/2:
			return
		}
	}
	if now.line == 0 {
		return
	}
	s.seen = append(s.seen, now)
	if len(s.seen) > shown+2 {
		s.seen = s.seen[1:]
	}
	s.by = s.expect(step)
}

// expect is how many positions to serve for step arrivals. Visitors come within a
// round of being served, so the arrivals since a moment are of the positions served
// until the last moment and after the one before it. It at most doubles from round
// to round, so that a late crowd is noticed.
func (s *shows) expect(step int64) int64 {
	n := len(s.seen)
	if n < 3 {
		return step
	}
	served := s.seen[n-2].serving - s.seen[0].serving
	came := s.seen[n-1].joined - s.seen[1].joined
	if served < step {
		return step // too few to say
	}
	by := most * step
	if came > 0 {
		by = min(by, step*served/came)
	}
	return max(step, min(by, 2*max(s.by, step), driver.MaxAdvance))
}
