package frontgatetest_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// defect is one way to break a store, and the cases that must fail for it.
type defect struct {
	name   string
	caught []string
	with   func(b *backend)
}

// defects lists all defects that the suite must find.
func defects() []defect {
	return slices.Concat(positionDefects(), memberDefects(), roundDefects(), switchDefects(), timeDefects())
}

// answers changes the answers of State, Assign and Switch.
func answers(change func(s driver.State) driver.State) func(b *backend) {
	return func(b *backend) {
		b.state = func(ctx context.Context, event string) (driver.State, error) {
			s, err := b.Store.State(ctx, event)
			return change(s), err
		}
		b.assign = func(ctx context.Context, event string, n int) (driver.State, error) {
			s, err := b.Store.Assign(ctx, event, n)
			return change(s), err
		}
		b.turn = func(ctx context.Context, event string, on bool) (driver.State, error) {
			s, err := b.Store.Switch(ctx, event, on)
			return change(s), err
		}
	}
}

func switchDefects() []defect {
	return []defect{
		{name: "leaves behind who holds a position when it is off", caught: []string{"off-admits-holders", "random-histories"}, with: func(b *backend) {
			served := map[string]int64{}
			b.turn = func(ctx context.Context, event string, on bool) (driver.State, error) {
				if s, err := b.Store.State(ctx, event); err == nil && s.On && !on {
					served[event] = s.Serving
				}
				s, err := b.Store.Switch(ctx, event, on)
				if !on && s.Epoch != 0 {
					s.Serving = served[event]
				}
				return s, err
			}
			b.state = func(ctx context.Context, event string) (driver.State, error) {
				s, err := b.Store.State(ctx, event)
				if !s.On && s.Epoch != 0 {
					s.Serving = served[event]
				}
				return s, err
			}
		}},
		{name: "begins anew when it is on again", caught: []string{"on-again-goes-on", "random-histories"}, with: func(b *backend) {
			b.turn = func(ctx context.Context, event string, on bool) (driver.State, error) {
				s, err := b.Store.Switch(ctx, event, on)
				if err == nil && !on && s.Epoch != 0 {
					b.Store = empty(b.clock)
				}
				return s, err
			}
		}},
		{name: "forgets how many there were before it was on", caught: []string{"on-again-goes-on", "random-histories"}, with: answers(func(s driver.State) driver.State {
			s.Opened = 0
			return s
		})},
		{name: "switching on what is on begins a count", caught: []string{"switching-twice"}, with: func(b *backend) {
			b.turn = func(ctx context.Context, event string, on bool) (driver.State, error) {
				if _, err := b.Store.Switch(ctx, event, false); err != nil || !on {
					s, err := b.Store.State(ctx, event)
					return s, err
				}
				return b.Store.Switch(ctx, event, on)
			}
		}},
		{name: "who switches on begins the counters over others'", caught: []string{"many-switch-on", "on-again-goes-on"}, with: beginsAnew},
	}
}

// beginsAnew makes each caller of Switch begin new counters, the last of many after
// a position was given out.
func beginsAnew(b *backend) {
	var mu sync.Mutex
	switches, first := 0, make(chan struct{})
	var once sync.Once
	b.assign = func(ctx context.Context, event string, n int) (driver.State, error) {
		mu.Lock()
		defer mu.Unlock()
		defer once.Do(func() { close(first) })
		return b.Store.Assign(ctx, event, n)
	}
	b.state = func(ctx context.Context, event string) (driver.State, error) {
		mu.Lock()
		defer mu.Unlock()
		return b.Store.State(ctx, event)
	}
	b.turn = func(ctx context.Context, event string, on bool) (driver.State, error) {
		mu.Lock()
		switches++
		last := switches == 8
		mu.Unlock()
		if last {
			select {
			case <-first:
			case <-time.After(5 * time.Second): // the case gives no position out
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if on {
			b.clock.move(time.Microsecond)
			b.Store = empty(b.clock)
		}
		return b.Store.Switch(ctx, event, on)
	}
}

func timeDefects() []defect {
	return []defect{
		{name: "does not show its clock", caught: []string{"shows-its-clock"}, with: answers(func(s driver.State) driver.State {
			s.Now = time.Time{}
			return s
		})},
		{name: "has the same epoch after a loss", caught: []string{"lost-counters"}, with: func(b *backend) {
			epochs := func(s driver.State) driver.State {
				if s.Epoch != 0 {
					s.Epoch = 7
				}
				return s
			}
			answers(epochs)(b)
		}},
		{name: "goes on with lost counters", caught: []string{"lost-counters"}, with: func(b *backend) {
			b.lose = func() {
				if _, err := b.Store.Switch(context.Background(), "show-1", true); err != nil {
					panic(err)
				}
			}
		}},
		{name: "forgets a gate that is on", caught: []string{"kept-while-on"}, with: func(b *backend) {
			began := b.clock.get()
			b.state = func(ctx context.Context, event string) (driver.State, error) {
				if b.clock.get().Sub(began) > driver.Kept {
					b.Store = empty(b.clock)
				}
				return b.Store.State(ctx, event)
			}
		}},
		{name: "never forgets", caught: []string{"kept-after-off"}, with: func(b *backend) {
			// A gate that is on is kept; this store says that it is off.
			off := map[string]driver.State{}
			b.turn = func(ctx context.Context, event string, on bool) (driver.State, error) {
				if s, there := off[event]; there && on {
					delete(off, event)
					s.On = true
					return s, nil
				}
				s, err := b.Store.State(ctx, event)
				if err == nil && !on && s.On {
					s.On, s.Serving = false, s.Assigned
					off[event] = s
				}
				if on {
					return b.Store.Switch(ctx, event, on)
				}
				return s, err
			}
			b.state = func(ctx context.Context, event string) (driver.State, error) {
				if s, there := off[event]; there {
					return s, nil
				}
				return b.Store.State(ctx, event)
			}
		}},
		{name: "forgets at once when it is off", caught: []string{"kept-after-off", "off-admits-holders"}, with: func(b *backend) {
			b.turn = func(ctx context.Context, event string, on bool) (driver.State, error) {
				s, err := b.Store.Switch(ctx, event, on)
				if err == nil && !on {
					b.Store = empty(b.clock)
				}
				return s, err
			}
		}},
	}
}
