package redisqueue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// registered records when this process has put events into the registry. It adds
// them again while it serves them, so that a lost event comes back.
type registered struct {
	mu sync.Mutex
	at map[string]time.Time
}

const (
	addEvery = 10 * time.Second
	// forgetAbove bounds the records of events that have no visits any more.
	forgetAbove = 1000
)

// due says whether an event is to be added again, and whether it was before.
func (r *registered) due(event string) (due, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, known := r.at[event]
	return !known || time.Since(at) >= addEvery, known
}

func (r *registered) set(event string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.at) >= forgetAbove {
		for other, at := range r.at {
			if time.Since(at) >= addEvery {
				delete(r.at, other)
			}
		}
	}
	r.at[event] = time.Now()
}

func (r *registered) forget(event string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.at, event)
}

func (s *store) register(ctx context.Context, event string) error {
	if err := s.client.SAdd(ctx, s.registry, event).Err(); err != nil {
		return fmt.Errorf("add to the registry: %w", err)
	}
	s.added.set(event)
	return nil
}

// Events lists the events of the registry; see [driver.Store].
func (s *store) Events(ctx context.Context) ([]string, error) {
	events, err := s.client.SMembers(ctx, s.registry).Result()
	if err != nil {
		return nil, s.failed("list", strings.TrimPrefix(s.registry, s.prefix), err)
	}
	slices.Sort(events)
	return events, nil
}
