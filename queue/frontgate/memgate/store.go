package memgate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// Config of a store. The zero value works.
type Config struct {
	// Now is the clock; by default the time at which the store was made plus the
	// monotonic time since then, so that setting the wall clock changes nothing.
	Now func() time.Time
}

type store struct {
	now func() time.Time

	mu    sync.Mutex
	gates map[string]*gate
}

type gate struct {
	driver.State // but for Now
	advanced     time.Time
	until        time.Time // while it is off
	members      map[string]kept
	swept        time.Time // of members that are not kept any more
}

type kept struct {
	position int64
	until    time.Time
}

// New returns a store without counters.
func New(cfg Config) (driver.Store, error) {
	if cfg.Now == nil {
		start := time.Now()
		cfg.Now = func() time.Time { return start.Add(time.Since(start)) }
	}
	return &store{now: cfg.Now, gates: map[string]*gate{}}, nil
}

// Assign gives positions out; see [driver.Store].
func (s *store) Assign(ctx context.Context, event string, n int) (driver.State, error) {
	if err := driver.CheckAssign(ctx, event, n); err != nil {
		return driver.State{}, fmt.Errorf("memgate: assign: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g, now := s.gate(event)
	if g.On {
		g.Assigned += int64(n)
	}
	return g.at(now), nil
}

// Keep keeps positions of members; see [driver.Store].
func (s *store) Keep(ctx context.Context, event string, epoch uint64, asks []driver.Ask) ([]int64, error) {
	if err := driver.CheckKeep(ctx, event, epoch, asks); err != nil {
		return nil, fmt.Errorf("memgate: keep: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g, now := s.gate(event)
	g.sweep(now)
	positions := make([]int64, len(asks))
	for i, ask := range asks {
		positions[i] = ask.Position
		k, there := g.members[ask.Member]
		switch {
		case epoch != g.Epoch:
		case there && now.Before(k.until):
			positions[i] = k.position
		case ask.Position > 0:
			g.members[ask.Member] = kept{ask.Position, now.Add(driver.Kept)}
		}
	}
	return positions, nil
}

// sweep forgets the members of the day before, once a day.
func (g *gate) sweep(now time.Time) {
	if now.Sub(g.swept) < driver.Kept {
		return
	}
	g.swept = now
	maps.DeleteFunc(g.members, func(_ string, k kept) bool { return !now.Before(k.until) })
}

// State returns the state of the gate; see [driver.Store].
func (s *store) State(ctx context.Context, event string) (driver.State, error) {
	if err := driver.Check(ctx, event); err != nil {
		return driver.State{}, fmt.Errorf("memgate: state: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g, now := s.gate(event)
	return g.at(now), nil
}

// Advance makes a round; see [driver.Store].
func (s *store) Advance(ctx context.Context, event string, by int64, every time.Duration) (driver.Round, error) {
	if err := driver.CheckAdvance(ctx, event, by, every); err != nil {
		return driver.Round{}, fmt.Errorf("memgate: advance: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g, now := s.gate(event)
	if !g.On {
		return driver.Round{State: g.at(now)}, nil
	}
	r := driver.Round{Next: every}
	// A round of the future is from before the clock was set back.
	past := now.Sub(g.advanced)
	if every > 0 && past >= 0 && past < every {
		r.Next = every - past
		r.State = g.at(now)
		return r, nil
	}
	if every > 0 {
		g.advanced = now
	}
	r.Moved = min(by, g.Assigned-g.Serving)
	g.Serving += r.Moved
	r.State = g.at(now)
	return r, nil
}

// Switch switches the gate; see [driver.Store].
func (s *store) Switch(ctx context.Context, event string, on bool) (driver.State, error) {
	if err := driver.Check(ctx, event); err != nil {
		return driver.State{}, fmt.Errorf("memgate: switch: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g, now := s.gate(event)
	switch {
	case on == g.On:
	case on:
		if g.Epoch == 0 {
			g.Epoch = uint64(now.UnixMicro())
			s.gates[event] = g
		}
		g.On, g.Opened = true, g.Assigned
	default:
		g.On, g.Serving, g.until = false, g.Assigned, now.Add(driver.Kept)
	}
	return g.at(now), nil
}

// Events lists the events; see [driver.Store].
func (s *store) Events(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("memgate: events: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	maps.DeleteFunc(s.gates, func(_ string, g *gate) bool { return g.over(now) })
	return slices.Collect(maps.Keys(s.gates)), nil
}

// gate returns the counters of an event, or new ones. The caller holds s.mu.
func (s *store) gate(event string) (*gate, time.Time) {
	now := s.now()
	g := s.gates[event]
	if g != nil && g.over(now) {
		delete(s.gates, event)
		g = nil
	}
	if g == nil {
		g = &gate{members: map[string]kept{}}
	}
	return g, now
}

func (g *gate) over(now time.Time) bool { return !g.On && !now.Before(g.until) }

func (g *gate) at(now time.Time) driver.State {
	s := g.State
	s.Now = now
	return s
}
