package queue

import (
	"math"
	"time"
)

// wait is an estimate of the time until an admission.
type wait struct {
	probable, low, high time.Duration
}

// foreseeable says whether the wait can be estimated.
func foreseeable(s *State) bool {
	if s.Paused || places(s) <= 0 || s.Stays == nil {
		return false
	}
	by := s.Stays
	return by.Active > 0 && by.NoShow > 0 && by.Tick > 0 && by.Batch > 0
}

// after is the wait at a position of a room that settles first.
func (f *forecast) after(settling time.Duration, position int) wait {
	s := f.wait(position)
	return wait{later(settling, s), later(settling, s/f.spread), later(settling, s*f.spread)}
}

// later is a time in s after a duration, which it does not overflow.
func later(d time.Duration, s float64) time.Duration {
	if ns := s * float64(time.Second); ns < float64(math.MaxInt64-d) {
		return d + time.Duration(ns)
	}
	return math.MaxInt64
}

// EstimateWait is the probable wait at a position of a room, from 1, until admission, and whether it
// is known: it is not while the room is paused, its threshold is 0, the stock is not
// enough for all the users before, or the store tells no Stays. The next user to line up has the position Waiting + 1.
func EstimateWait(s State, position int) (time.Duration, bool) {
	if !foreseeable(&s) || !reaches(&s, position) {
		return 0, false
	}
	return newForecast(&s).after(s.Settling, position).probable, true
}
