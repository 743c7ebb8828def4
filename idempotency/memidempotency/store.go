package memidempotency

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/millrace-go/millrace/idempotency"
)

// Store is an [idempotency.Store] in memory.
type Store struct {
	mu      sync.Mutex
	handled map[string]time.Time
	running map[string]chan struct{} // closed when the call that holds the key is over
}

var _ idempotency.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	return &Store{handled: map[string]time.Time{}, running: map[string]chan struct{}{}}
}

// holding is the keys that the calls around this one hold, innermost first.
type holding struct {
	store *Store
	key   string
	outer *holding
}

type contextKey struct{}

// Once runs fn if the key is new; see [idempotency.Store]. A call from inside
// fn with the same key is a duplicate.
func (s *Store) Once(ctx context.Context, r idempotency.Record, fn func(ctx context.Context) error) (bool, error) {
	if r.Key == "" {
		return false, idempotency.ErrEmptyKey
	}
	outer, _ := ctx.Value(contextKey{}).(*holding)
	for h := outer; h != nil; h = h.outer {
		if h.store == s && h.key == r.Key {
			return false, nil // waiting would be waiting for ourselves
		}
	}
	over, err := s.take(ctx, r.Key)
	if err != nil || over == nil {
		return false, err
	}
	done := false
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if done {
			s.handled[r.Key] = time.Now()
		}
		delete(s.running, r.Key)
		close(over)
	}()
	if err := fn(context.WithValue(ctx, contextKey{}, &holding{s, r.Key, outer})); err != nil {
		return false, err
	}
	done = true
	return true, nil
}

// take waits until nobody holds the key and takes it, or returns nil when it
// is handled.
func (s *Store) take(ctx context.Context, key string) (chan struct{}, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("memidempotency: record %q: %w", key, err)
		}
		s.mu.Lock()
		if _, ok := s.handled[key]; ok {
			s.mu.Unlock()
			return nil, nil
		}
		other, busy := s.running[key]
		if !busy {
			over := make(chan struct{})
			s.running[key] = over
			s.mu.Unlock()
			return over, nil
		}
		s.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
		}
	}
}

// Seen reports whether the key is recorded.
func (s *Store) Seen(_ context.Context, key string) (bool, error) {
	if key == "" {
		return false, idempotency.ErrEmptyKey
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.handled[key]
	return ok, nil
}

// Prune forgets up to limit keys recorded before the given time.
func (s *Store) Prune(_ context.Context, before time.Time, limit int) (int, error) {
	if limit < 1 {
		return 0, fmt.Errorf("memidempotency: prune: the limit is %d; use at least 1", limit)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for key, at := range s.handled {
		if n == limit {
			break
		}
		if at.Before(before) {
			delete(s.handled, key)
			n++
		}
	}
	return n, nil
}
