package memcounter

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"

	"github.com/millrace-go/millrace/counter/driver"
)

type store struct {
	mu       sync.Mutex
	counters map[string]*deltas
}

type deltas struct {
	now   map[string]int64
	aside map[string][]driver.Delta
}

// New makes an empty store.
func New() driver.MemoryStore { return &store{counters: map[string]*deltas{}} }

// of returns the deltas of a counter; the lock is held.
func (s *store) of(name string) *deltas {
	d := s.counters[name]
	if d == nil {
		d = &deltas{now: map[string]int64{}, aside: map[string][]driver.Delta{}}
		s.counters[name] = d
	}
	return d
}

// Add implements [driver.Store].
func (s *store) Add(ctx context.Context, name, key string, n int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.of(name)
	if d.now[key] += n; d.now[key] == 0 {
		delete(d.now, key)
	}
	return nil
}

// Pending implements [driver.Store].
func (s *store) Pending(ctx context.Context, name string, keys []string) (map[string]int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.of(name)
	out := make(map[string]int64, len(keys))
	for _, key := range keys {
		out[key] = d.now[key]
	}
	for _, aside := range d.aside {
		for _, a := range aside {
			if _, asked := out[a.Key]; asked {
				out[a.Key] += a.N
			}
		}
	}
	return out, nil
}

// Take implements [driver.Store].
func (s *store) Take(ctx context.Context, name string, limit int) ([]driver.Taken, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.of(name)
	t := driver.Taken{ID: strings.ToLower(rand.Text())}
	for key, n := range d.now {
		if len(t.Deltas) == limit {
			break
		}
		t.Deltas = append(t.Deltas, driver.Delta{Key: key, N: n})
		delete(d.now, key)
	}
	if len(t.Deltas) == 0 {
		return nil, nil
	}
	d.aside[t.ID] = slices.Clone(t.Deltas)
	return []driver.Taken{t}, nil
}

// Aside implements [driver.Store].
func (s *store) Aside(ctx context.Context, name string) ([]driver.Taken, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []driver.Taken
	for id, aside := range s.of(name).aside {
		out = append(out, driver.Taken{ID: id, Deltas: slices.Clone(aside)})
	}
	slices.SortFunc(out, func(a, b driver.Taken) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// Forget implements [driver.Store].
func (s *store) Forget(ctx context.Context, name string, ids []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		delete(s.of(name).aside, id)
	}
	return nil
}

// Lose implements [driver.MemoryStore].
func (s *store) Lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.counters)
}
