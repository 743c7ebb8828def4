package queue

import (
	"math"
	"time"
)

// The guessed wait of the first of a line and of each user after it, when the pace
// is not known yet.
const (
	leastGuess = 5 * time.Second
	guessEach  = time.Second / 50
)

// estimate is the probable wait at a position, and whether it is known: by the pace
// of the last minute, or by a guess when there were no admissions within it.
func estimate(position int, s State) (time.Duration, bool) {
	if s.Paused || s.Threshold == 0 {
		return 0, false
	}
	if s.Rate.Over <= 0 || s.Rate.Admitted <= 0 {
		return s.Settling + max(time.Duration(position)*guessEach, leastGuess), true
	}
	wait := float64(position)*float64(s.Rate.Over)/float64(s.Rate.Admitted) + float64(s.Settling)
	if wait >= math.MaxInt64 {
		return math.MaxInt64, true
	}
	return time.Duration(wait), true
}

// Wait is the probable wait at a position, from 1, until admission, and whether it
// is known: it is not while the room is paused or its threshold is 0. The next user
// to line up has the position Waiting + 1.
func (s State) Wait(position int) (time.Duration, bool) { return estimate(position, s) }
