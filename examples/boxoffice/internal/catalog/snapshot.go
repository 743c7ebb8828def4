package catalog

import (
	"context"
	"sync"
	"time"
)

const (
	// maxAge is how old a value may be that this process has not changed: another
	// process may have.
	maxAge = 100 * time.Millisecond
	// minGap is the least time between two loads. A reader that arrives sooner after a
	// change waits for the rest of it.
	minGap = 20 * time.Millisecond
	// loadTimeout bounds one load: it serves many, so no caller's deadline does.
	loadTimeout = 5 * time.Second
)

// snapshot is a value that is loaded once for many readers. A reader that asks after
// invalidate gets a value that was loaded after it.
type snapshot[T any] struct {
	load func(context.Context) (T, error)

	mu       sync.Mutex
	changes  uint64 // invalidations so far
	value    T
	seen     uint64 // changes when the load of value began
	loadedAt time.Time
	flight   *flight[T]
}

type flight[T any] struct {
	done  chan struct{}
	value T
	seen  uint64
	err   error
}

func newSnapshot[T any](load func(context.Context) (T, error)) *snapshot[T] {
	return &snapshot[T]{load: load}
}

func (s *snapshot[T]) invalidate() {
	s.mu.Lock()
	s.changes++
	s.mu.Unlock()
}

func (s *snapshot[T]) get(ctx context.Context) (T, error) {
	s.mu.Lock()
	since := s.changes
	for {
		if !s.loadedAt.IsZero() && s.seen >= since && time.Since(s.loadedAt) < maxAge {
			v := s.value
			s.mu.Unlock()
			return v, nil
		}
		f := s.flight
		if f == nil {
			return s.lead(ctx) // unlocks
		}
		s.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			var zero T
			return zero, ctx.Err()
		}
		if f.err != nil || f.seen >= since {
			return f.value, f.err
		}
		s.mu.Lock()
	}
}

// lead loads the value for all waiting readers. It is called with s.mu held.
func (s *snapshot[T]) lead(ctx context.Context) (T, error) {
	f := &flight[T]{done: make(chan struct{})}
	s.flight = f
	gap := minGap - time.Since(s.loadedAt)
	s.mu.Unlock()

	if gap > 0 {
		time.Sleep(gap) // not the caller's to cut short: others wait with it
	}
	s.mu.Lock()
	f.seen = s.changes
	s.mu.Unlock()
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
	f.value, f.err = s.load(ctx)
	cancel()

	s.mu.Lock()
	s.flight = nil
	if f.err == nil {
		s.value, s.seen, s.loadedAt = f.value, f.seen, began
	}
	s.mu.Unlock()
	close(f.done)
	return f.value, f.err
}
