package memidempotency

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/millrace-go/millrace/idempotency/driver"
)

type store struct {
	mu      sync.Mutex
	handled map[string]time.Time
	running map[string]chan struct{} // closed when the call that holds the key is over
}

// New returns an empty store.
func New() driver.MemoryStore {
	return &store{handled: map[string]time.Time{}, running: map[string]chan struct{}{}}
}

// holding holds the keys of one call, and the calls around it.
type holding struct {
	store *store
	over  chan struct{}
	mu    sync.Mutex
	keys  map[string]struct{}
	ended bool
	outer *holding
}

type contextKey struct{}

// inside returns the innermost call of this store around ctx.
func (s *store) inside(ctx context.Context) *holding {
	h, _ := ctx.Value(contextKey{}).(*holding)
	for h != nil && h.store != s {
		h = h.outer
	}
	return h
}

// Once runs fn if the key is new; see [driver.Store]. A call from inside
// fn with the same key is a duplicate.
func (s *store) Once(ctx context.Context, r driver.Record, fn func(ctx context.Context) error) (bool, error) {
	fresh, err := s.OnceBatch(ctx, []driver.Record{r}, func(ctx context.Context, _ []int) error { return fn(ctx) })
	return len(fresh) == 1, err
}

// OnceBatch runs fn with the new keys of a batch; see [driver.BatchStore].
func (s *store) OnceBatch(ctx context.Context, records []driver.Record, fn func(ctx context.Context, fresh []int) error) ([]int, error) {
	outer, _ := ctx.Value(contextKey{}).(*holding)
	h := &holding{store: s, over: make(chan struct{}), keys: map[string]struct{}{}, outer: outer}
	done := false
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ended = true
		now := time.Now()
		for key := range h.keys {
			if done {
				s.handled[key] = now
			}
			delete(s.running, key)
		}
		close(h.over)
	}()
	fresh, err := s.take(ctx, h, records)
	if err != nil || len(fresh) == 0 {
		return nil, err
	}
	if err := fn(context.WithValue(ctx, contextKey{}, h), fresh); err != nil {
		return nil, err
	}
	done = true
	return fresh, nil
}

// Fresh takes the new keys of a batch for the call of Once or OnceBatch that ctx comes from;
// they are kept or released with that call. Elsewhere it returns
// [driver.ErrNoTransaction].
func (s *store) Fresh(ctx context.Context, records []driver.Record) ([]int, error) {
	h := s.inside(ctx)
	if h == nil {
		return nil, driver.ErrNoTransaction
	}
	return s.take(ctx, h, records)
}

// take waits until no other call holds any of the keys, and then gives all new ones to h at
// once: a waiting call holds no keys.
func (s *store) take(ctx context.Context, h *holding, records []driver.Record) ([]int, error) {
	for _, r := range records {
		if r.Key == "" {
			return nil, driver.ErrEmptyKey
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("memidempotency: record keys: %w", err)
		}
		fresh, busy, err := s.tryTake(h, records)
		if err != nil || busy == nil {
			return fresh, err
		}
		select {
		case <-busy:
		case <-ctx.Done():
		}
	}
}

// tryTake returns the channel of a call to wait for, or the new keys.
func (s *store) tryTake(h *holding, records []driver.Record) (fresh []int, busy <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return nil, nil, fmt.Errorf("memidempotency: the call that the context comes from has ended: %w", driver.ErrNoTransaction)
	}
	picked := map[string]struct{}{}
	for i, r := range records {
		_, handled := s.handled[r.Key]
		_, twice := picked[r.Key]
		if handled || twice {
			continue
		}
		if over, running := s.running[r.Key]; running {
			if h.owns(over) {
				continue // this call would wait for itself
			}
			return nil, over, nil
		}
		picked[r.Key] = struct{}{}
		fresh = append(fresh, i)
	}
	for key := range picked {
		s.running[key] = h.over
		h.keys[key] = struct{}{}
	}
	return fresh, nil, nil
}

// owns reports whether over belongs to this call or to one around it.
func (h *holding) owns(over chan struct{}) bool {
	for ; h != nil; h = h.outer {
		if h.over == over {
			return true
		}
	}
	return false
}

// Known reports which keys are recorded; see [driver.Precheck].
func (s *store) Known(_ context.Context, keys []string) ([]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := make([]bool, len(keys))
	for i, key := range keys {
		_, known[i] = s.handled[key]
	}
	return known, nil
}

// Mark records keys whose effects are committed; see [driver.Precheck].
func (s *store) Mark(_ context.Context, keys []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		s.handled[key] = time.Now()
	}
	return nil
}

// Seen reports whether the key is recorded.
func (s *store) Seen(_ context.Context, key string) (bool, error) {
	if key == "" {
		return false, driver.ErrEmptyKey
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.handled[key]
	return ok, nil
}

// Prune deletes up to limit keys that are older than age.
func (s *store) Prune(_ context.Context, age time.Duration, limit int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := time.Now().Add(-age)
	return prune(s.handled, limit, func(at time.Time) bool { return at.Before(before) })
}

// prune deletes up to limit keys that are old, and counts them.
func prune[V any](keys map[string]V, limit int, old func(V) bool) (n int, err error) {
	if limit < 1 {
		return 0, fmt.Errorf("memidempotency: prune: the limit is %d; use at least 1", limit)
	}
	for key, value := range keys {
		if n == limit {
			break
		}
		if old(value) {
			delete(keys, key)
			n++
		}
	}
	return n, nil
}
