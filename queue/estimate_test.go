package queue

import (
	"math"
	"testing"
	"time"
)

func TestEstimate(t *testing.T) {
	const second = time.Second
	rate := func(admitted int, over time.Duration) State {
		return State{Threshold: 10, Rate: Rate{Admitted: admitted, Over: over}}
	}
	paused, closed, settling, settlingWithPace := rate(60, 60*second), rate(60, 60*second), rate(0, 0), rate(60, 60*second)
	paused.Paused, closed.Threshold = true, 0
	settling.Settling, settlingWithPace.Settling = 40*second, 40*second
	for _, tc := range []struct {
		name     string
		position int
		state    State
		want     time.Duration
		known    bool
	}{
		{"no data: 50 a second", 1000, rate(0, 0), 20 * second, true},
		{"no data, near: 5 s at least", 1, rate(0, 0), 5 * second, true},
		{"no data: the turn", 251, rate(0, 0), 5020 * time.Millisecond, true},
		{"nobody within the minute", 500, rate(0, 60*second), 10 * second, true},
		{"100 a second", 1000, rate(6000, 60*second), 10 * second, true},
		{"less than a minute of data", 1000, rate(500, 5*second), 10 * second, true},
		{"slow", 30, rate(1, 60*second), 30 * 60 * second, true},
		{"the first", 1, rate(6000, 60*second), 10 * time.Millisecond, true},
		{"paused", 1000, paused, 0, false},
		{"threshold 0", 1000, closed, 0, false},
		{"settling", 1000, settling, 60 * second, true},
		{"settling, with a pace", 10, settlingWithPace, 50 * second, true},
		{"for ever", math.MaxInt, rate(1, 60*second), math.MaxInt64, true},
	} {
		if got, known := estimate(tc.position, tc.state); got != tc.want || known != tc.known {
			t.Errorf("%s: %v, %v; want %v, %v", tc.name, got, known, tc.want, tc.known)
		}
	}
}
