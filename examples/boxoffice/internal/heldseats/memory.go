package heldseats

import (
	"context"
	"maps"
	"sync"
	"time"
)

// Memory is a [Store] in this process, where that is the only one.
type Memory struct {
	mu    sync.Mutex
	shows map[string]copied
}

type copied struct {
	seats map[string]string
	until time.Time
}

// NewMemory makes a Memory.
func NewMemory() *Memory { return &Memory{shows: map[string]copied{}} }

// Change implements [Store].
func (m *Memory) Change(_ context.Context, show string, ttl time.Duration, changes ...Change) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	seats := m.of(show)
	for _, c := range changes {
		switch {
		case c.Was != Any && c.Was != seats[c.Seat]:
		case c.Now == "":
			delete(seats, c.Seat)
		default:
			seats[c.Seat] = c.Now
		}
	}
	m.shows[show] = copied{seats, time.Now().Add(ttl)}
	return nil
}

// Read implements [Store].
func (m *Memory) Read(_ context.Context, show string) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.of(show)), nil
}

func (m *Memory) of(show string) map[string]string {
	if c, ok := m.shows[show]; ok && time.Now().Before(c.until) {
		return c.seats
	}
	return map[string]string{}
}
