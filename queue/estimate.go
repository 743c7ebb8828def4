package queue

import (
	"math"
	"time"
)

// How long the first of a line and each after it wait when nothing is known of
// the pace yet.
const (
	leastGuess = 5 * time.Second
	guessEach  = time.Second / 50
)

// estimate is how long who stands at a position will probably wait, and whether
// that can be said: by the pace of the last minute, or by a guess when nobody
// was let in within it.
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

// Wait is how long who stands at a position, from 1, will probably wait until
// they are let in, and whether that can be said: it cannot while the room is
// paused or its threshold is 0. The position of who comes next is Waiting + 1.
func (s State) Wait(position int) (time.Duration, bool) { return estimate(position, s) }
