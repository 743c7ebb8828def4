package meter

import (
	"context"
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
	oldest  int64 // none is kept that began before
}

// NewMemory makes a Memory.
func NewMemory() *Memory { return &Memory{seconds: map[int64]Second{}} }

// Add implements [Store].
func (s *Memory) Add(_ context.Context, counts []Second) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.forget(now)
	for _, c := range counts {
		if c.Unix < s.oldest {
			continue
		}
		sum := s.seconds[c.Unix]
		s.seconds[c.Unix] = Second{Unix: c.Unix, High: sum.High + c.High, Low: sum.Low + c.Low}
	}
	return now, nil
}

// forget removes old seconds. It looks at each second once.
func (s *Memory) forget(now time.Time) {
	oldest := now.Add(-keepFor).Unix()
	if oldest-s.oldest > int64(len(s.seconds)) {
		for unix := range s.seconds {
			if unix < oldest {
				delete(s.seconds, unix)
			}
		}
	} else {
		for ; s.oldest < oldest; s.oldest++ {
			delete(s.seconds, s.oldest)
		}
	}
	s.oldest = max(s.oldest, oldest)
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
