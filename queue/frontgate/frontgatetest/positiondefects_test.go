package frontgatetest_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

func positionDefects() []defect {
	return []defect{
		{name: "a gate is on when it is asked for a position", caught: []string{"off-by-default", "off-gives-none"}, with: func(b *backend) {
			b.assign = func(ctx context.Context, event string, n int) (driver.State, error) {
				if _, err := b.Store.Switch(ctx, event, true); err != nil {
					return driver.State{}, err
				}
				return b.Store.Assign(ctx, event, n)
			}
		}},
		{name: "switching off makes counters", caught: []string{"off-by-default"}, with: func(b *backend) {
			b.turn = func(ctx context.Context, event string, on bool) (driver.State, error) {
				if _, err := b.Store.Switch(ctx, event, true); err != nil || on {
					s, err := b.Store.State(ctx, event)
					return s, err
				}
				return b.Store.Switch(ctx, event, on)
			}
		}},
		{name: "begins at the position 2", caught: []string{"positions-from-one", "random-histories"}, with: answers(func(s driver.State) driver.State {
			if s.Assigned > 0 {
				s.Assigned++
			}
			return s
		})},
		{name: "gives a position more than it says", caught: []string{"positions-from-one", "random-histories"}, with: func(b *backend) {
			b.assign = func(ctx context.Context, event string, n int) (driver.State, error) {
				s, err := b.Store.Assign(ctx, event, n)
				if err != nil || !s.On {
					return s, err
				}
				_, err = b.Store.Assign(ctx, event, 1)
				return s, err
			}
		}},
		{name: "gives positions out while off", caught: []string{"off-gives-none", "off-by-default"}, with: func(b *backend) {
			b.assign = func(ctx context.Context, event string, n int) (driver.State, error) {
				s, err := b.Store.Assign(ctx, event, n)
				if err == nil && !s.On {
					s.On, s.Assigned = true, s.Assigned+int64(n)
				}
				return s, err
			}
		}},
		{name: "reads, adds, and then writes", caught: []string{"dense-over-callers"}, with: readsThenWrites},
		{name: "each process counts for itself", caught: []string{"positions-from-one", "dense-over-callers", "rounds-over-callers", "many-switch-on"}, with: func(b *backend) {
			peer := newBackend()
			peer.clock = b.clock
			peer.Store = empty(b.clock)
			b.peer = &mirrored{Store: peer, first: b}
		}},
		{name: "has one pair of counters for all events", caught: []string{"events-apart"}, with: func(b *backend) {
			b.assign = func(ctx context.Context, event string, n int) (driver.State, error) {
				return b.Store.Assign(ctx, one(event), n)
			}
			b.state = func(ctx context.Context, event string) (driver.State, error) {
				return b.Store.State(ctx, one(event))
			}
			b.turn = func(ctx context.Context, event string, on bool) (driver.State, error) {
				return b.Store.Switch(ctx, one(event), on)
			}
			b.advance = func(ctx context.Context, event string, by int64, every time.Duration) (driver.Round, error) {
				return b.Store.Advance(ctx, one(event), by, every)
			}
		}},
		{name: "lists nothing", caught: []string{"events-are-listed", "kept-while-on"}, with: func(b *backend) {
			b.events = func(context.Context) ([]string, error) { return nil, nil }
		}},
		{name: "lists what was lost", caught: []string{"events-are-listed"}, with: func(b *backend) {
			var seen []string
			b.events = func(ctx context.Context) ([]string, error) {
				events, err := b.Store.Events(ctx)
				for _, event := range events {
					if !slices.Contains(seen, event) {
						seen = append(seen, event)
					}
				}
				return seen, err
			}
		}},
		{name: "lists only what is on", caught: []string{"events-are-listed"}, with: func(b *backend) {
			b.events = func(ctx context.Context) ([]string, error) {
				events, err := b.Store.Events(ctx)
				return slices.DeleteFunc(events, func(event string) bool {
					s, err := b.Store.State(ctx, event)
					return err == nil && !s.On
				}), err
			}
		}},
		{name: "accepts any ask, and any context", caught: []string{"bad-asks", "ended-context"}, with: func(b *backend) {
			anything := context.Background()
			b.assign = func(_ context.Context, event string, n int) (driver.State, error) {
				return b.Store.Assign(anything, valid(event), min(max(n, 1), driver.MaxAssign))
			}
			b.keep = func(context.Context, string, uint64, []driver.Ask) ([]int64, error) { return nil, nil }
			b.state = func(_ context.Context, event string) (driver.State, error) {
				return b.Store.State(anything, valid(event))
			}
			b.turn = func(_ context.Context, event string, on bool) (driver.State, error) {
				return b.Store.Switch(anything, valid(event), on)
			}
			b.advance = func(_ context.Context, event string, by int64, every time.Duration) (driver.Round, error) {
				return b.Store.Advance(anything, valid(event), min(max(by, 1), driver.MaxAdvance), min(max(every, 0), driver.Kept).Truncate(time.Millisecond))
			}
			b.events = func(context.Context) ([]string, error) { return b.Store.Events(anything) }
		}},
	}
}

// mirrored is switched, lost and listed as the first store, and counts for itself.
type mirrored struct {
	driver.Store
	first *backend
}

func (m *mirrored) follow(ctx context.Context, event string) error {
	s, err := m.first.Store.State(ctx, event)
	if err == nil {
		_, err = m.Store.Switch(ctx, event, s.On)
	}
	return err
}

func (m *mirrored) Assign(ctx context.Context, event string, n int) (driver.State, error) {
	if err := m.follow(ctx, event); err != nil {
		return driver.State{}, err
	}
	return m.Store.Assign(ctx, event, n)
}

func (m *mirrored) Advance(ctx context.Context, event string, by int64, every time.Duration) (driver.Round, error) {
	if err := m.follow(ctx, event); err != nil {
		return driver.Round{}, err
	}
	return m.Store.Advance(ctx, event, by, every)
}

func one(event string) string {
	if driver.CheckEvent(event) != nil {
		return event
	}
	return "all"
}

func valid(event string) string {
	if driver.CheckEvent(event) != nil {
		return "any"
	}
	return event
}

// readsThenWrites makes two callers both read before either writes.
func readsThenWrites(b *backend) {
	var mu sync.Mutex
	last, calls := driver.State{}, 0
	second := make(chan struct{})
	b.assign = func(ctx context.Context, event string, n int) (driver.State, error) {
		s, err := b.Store.State(ctx, event)
		if err != nil || !s.On {
			return s, err
		}
		mu.Lock()
		if last.Epoch != s.Epoch {
			last = s
		}
		read := last.Assigned
		calls++
		call := calls
		mu.Unlock()
		switch call {
		case 1:
			select {
			case <-second:
			case <-time.After(5 * time.Second): // the case has one caller
			}
		case 2:
			defer close(second)
		}
		mu.Lock()
		defer mu.Unlock()
		s.Assigned = read + int64(n)
		last = s
		return s, nil
	}
}
