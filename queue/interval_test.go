package queue

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestNextPoll(t *testing.T) {
	table := defaultIntervals()
	for _, tc := range []struct {
		position int
		want     time.Duration
	}{
		{-1, 3 * time.Second}, {0, 3 * time.Second},
		{1, time.Second}, {1_000, time.Second},
		{1_001, 5 * time.Second}, {5_000, 5 * time.Second},
		{5_001, 10 * time.Second}, {10_000, 10 * time.Second},
		{10_001, 30 * time.Second}, {100_000, 30 * time.Second},
		{100_001, time.Minute}, {math.MaxInt, time.Minute},
	} {
		assert.Equalf(t, tc.want, nextPoll(table, tc.position, 0), "position %d", tc.position)
		if got, most := nextPoll(table, tc.position, 0.5), tc.want+tc.want/20; got != most {
			t.Errorf("position %d, half of the jitter: %v, want %v", tc.position, got, most)
		}
		if got, most := nextPoll(table, tc.position, math.Nextafter(1, 0)), tc.want+tc.want/10; got > most {
			t.Errorf("position %d, all of the jitter: %v, more than %v", tc.position, got, most)
		}
	}
	assert.Equal(t, 66*time.Second, longest(table), "the longest")
}
