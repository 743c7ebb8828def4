package meter

import (
	"context"
	"maps"
	"sync"
	"time"
)

// keepFor is how long a second is kept: the longest series, and the delay of
// processes.
const keepFor = (MaxSeries + 60) * time.Second

// Memory is a [Store] for the meters of one process.
type Memory struct {
	mu      sync.Mutex
	seconds map[int64]Second
}

// NewMemory makes a Memory.
func NewMemory() *Memory { return &Memory{seconds: map[int64]Second{}} }

// Add implements [Store].
func (s *Memory) Add(_ context.Context, counts []Second) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range counts {
		sum := s.seconds[c.Unix]
		s.seconds[c.Unix] = Second{Unix: c.Unix, High: sum.High + c.High, Low: sum.Low + c.Low}
	}
	now := time.Now()
	oldest := now.Add(-keepFor).Unix()
	maps.DeleteFunc(s.seconds, func(unix int64, _ Second) bool { return unix < oldest })
	return now, nil
}

// Read implements [Store].
func (s *Memory) Read(_ context.Context, first int64, n int) ([]Second, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seconds := make([]Second, n)
	for i := range seconds {
		seconds[i] = s.seconds[first+int64(i)]
		seconds[i].Unix = first + int64(i)
	}
	return seconds, time.Now(), nil
}
