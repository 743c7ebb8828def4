package memqueue

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/internal/roomcalls"
)

// Config of a store. The zero value works.
type Config struct {
	// Now is the clock; by default the time at which the store was made plus the
	// monotonic time since then, so that setting the wall clock changes nothing.
	Now func() time.Time
}

// store keeps the lines in memory. All its users count as one process.
type store struct {
	now func() time.Time

	mu      sync.RWMutex
	servers int64  // as in queue.State
	epoch   uint64 // of all rooms that were not cleared
	begun   int64
	rooms   map[string]*room
	figures map[string]map[int64]driver.Sample // by event and minute
}

// New returns a store without any events.
func New(cfg Config) (driver.MemoryStore, error) {
	if cfg.Now == nil {
		start := time.Now()
		cfg.Now = func() time.Time { return start.Add(time.Since(start)) }
	}
	s := &store{now: cfg.Now, servers: 1, epoch: newEpoch(), rooms: map[string]*room{}, figures: map[string]map[int64]driver.Sample{}}
	s.begun = s.clock()
	return s, nil
}

// newEpoch is a random epoch. It is never zero, which stands for no epoch.
func newEpoch() uint64 { return rand.Uint64N(1<<53-1) + 1 }

func (s *store) clock() int64 { return s.now().UnixMicro() }

// enter locks the event's room. It makes a missing room, and keeps it only if asked
// to.
func (s *store) enter(event string, keep bool) (*room, int64) {
	s.mu.RLock()
	m, servers, epoch, begun := s.rooms[event], s.servers, s.epoch, s.begun
	s.mu.RUnlock()
	if m == nil {
		m = newRoom(servers, epoch, begun, s.clock())
		if keep {
			s.mu.Lock()
			if other := s.rooms[event]; other != nil {
				m = other
			} else {
				s.rooms[event] = m
			}
			s.mu.Unlock()
		}
	}
	m.mu.Lock()
	return m, s.clock()
}

// Visit serves visits and beats; see [driver.Store].
func (s *store) Visit(ctx context.Context, event string, r driver.Rules, b driver.Beats, visits []driver.Visit) (driver.Visited, error) {
	if err := cmp.Or(check(ctx, event, r), roomcalls.CheckVisits(r, b, visits)); err != nil {
		return driver.Visited{}, fmt.Errorf("memqueue: visit: %w", err)
	}
	joins := slices.ContainsFunc(visits, func(v driver.Visit) bool { return v.Kind == driver.Check })
	m, now := s.enter(event, joins)
	defer m.mu.Unlock()
	m.expire(now, r)
	if joins {
		m.listed, m.idle = true, false
	}
	m.beat(b, now, r)
	outcomes := make([]driver.Outcome, len(visits))
	for i, v := range visits {
		outcomes[i] = m.visit(v, now, r)
	}
	return driver.Visited{State: m.state(now, r), Outcomes: outcomes}, nil
}

// Look returns the state of the line; see [driver.Store].
func (s *store) Look(ctx context.Context, event string, r driver.Rules, epoch, version uint64) (driver.View, error) {
	if err := check(ctx, event, r); err != nil {
		return driver.View{}, fmt.Errorf("memqueue: look: %w", err)
	}
	m, now := s.enter(event, false)
	defer m.mu.Unlock()
	m.expire(now, r)
	full := version == 0 || epoch != m.epoch || version < m.line.floor || version > m.line.version
	if full {
		version = 0
	}
	blocks, upto, more := m.line.since(version, !full)
	slices.SortFunc(blocks, func(a, b driver.Block) int { return cmp.Compare(a.Number, b.Number) })
	return driver.View{State: m.state(now, r), Version: upto, Blocks: blocks, Full: full, More: more}, nil
}

// Admit admits the first of the line; see [driver.Store].
func (s *store) Admit(ctx context.Context, event string, r driver.Rules) (driver.Admission, error) {
	if err := check(ctx, event, r); err != nil {
		return driver.Admission{}, fmt.Errorf("memqueue: admit: %w", err)
	}
	m, now := s.enter(event, false)
	defer m.mu.Unlock()
	m.expire(now, r)
	return m.admit(now, r), nil
}

// Sweep removes users without signs of life; see [driver.Store].
func (s *store) Sweep(ctx context.Context, event string, r driver.Rules, from int64) (driver.Swept, error) {
	if err := check(ctx, event, r); err != nil {
		return driver.Swept{}, fmt.Errorf("memqueue: sweep: %w", err)
	}
	if from < 0 {
		return driver.Swept{}, fmt.Errorf("memqueue: sweep: %w", roomcalls.Bad("from is %d, and blocks are numbered from 0", from))
	}
	m, now := s.enter(event, false)
	defer m.mu.Unlock()
	m.expire(now, r)
	return m.sweep(from, now, r), nil
}

// Change carries out an operator's change; see [driver.Store].
func (s *store) Change(ctx context.Context, event string, r driver.Rules, c driver.Change) (driver.State, error) {
	if err := cmp.Or(check(ctx, event, r), roomcalls.CheckChange(c)); err != nil {
		return driver.State{}, fmt.Errorf("memqueue: change: %w", err)
	}
	m, now := s.enter(event, true)
	defer m.mu.Unlock()
	m.expire(now, r)
	m.change(c, now, newEpoch)
	return m.state(now, r), nil
}

// Events lists the events, by name; see [driver.Store].
func (s *store) Events(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("memqueue: events: %w", err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	events := make([]string, 0, len(s.rooms))
	for event, m := range s.rooms {
		m.mu.Lock()
		if m.listed {
			events = append(events, event)
		}
		m.mu.Unlock()
	}
	slices.Sort(events)
	return events, nil
}
