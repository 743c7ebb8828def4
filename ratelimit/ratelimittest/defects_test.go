package ratelimittest_test

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/internal/budget"
)

// defect is one way to break a store, and the cases that must fail for it.
type defect struct {
	name   string
	caught []string
	with   func() *backend
}

// defects lists all defects that the suite detects.
func defects() []defect {
	return slices.Concat(amountDefects(), timeDefects(), dayDefects(), runDefects(), returnDefects(), strictDefects())
}

func amountDefects() []defect {
	return []defect{
		{"missing state is full", []string{"missing-is-empty", "bound-over-random-histories"}, func() *backend {
			return &backend{acquire: func(b *backend, p *driver.Plan, a driver.Ask) (driver.Grant, error) {
				if b.state.Buckets.Server == "" && !p.Strict {
					b.state.Acquire(p, a, budget.Moment{Server: b.at.Server, Now: b.at.Now - time.Hour.Microseconds()})
				}
				return b.state.Acquire(p, a, b.at), nil
			}}
		}},
		{"has no low cap", []string{"low-leaves-the-reserve", "bound-over-random-histories"}, func() *backend {
			return withAsk(func(a *driver.Ask) {
				for i := range a.Runs {
					a.Runs[i].Priority = ratelimit.High
				}
			})
		}},
		{"gives low the burst of high", []string{"burst-is-the-most", "low-leaves-the-reserve"}, func() *backend {
			return withPlan(func(p *driver.Plan) { p.LowBurst = p.Burst })
		}},
		{"charges what the low cap refuses", []string{"refused-low-costs-nothing", "strict-low"}, func() *backend {
			return withGrant(func(b *backend, p *driver.Plan, a driver.Ask, g *driver.Grant) {
				for i, r := range a.Runs {
					if n := r.Count - g.Runs[i].Granted; n > 0 && r.Priority == ratelimit.Low {
						r.Priority, r.Count, r.Wait = ratelimit.High, n, false
						b.state.Acquire(p, driver.Ask{Runs: []driver.Run{r}}, b.at)
					}
				}
			})
		}},
		{"fills its buckets to a whole second", []string{"burst-is-the-most", "bound-over-random-histories"}, func() *backend {
			return withPlan(func(p *driver.Plan) { p.Burst = max(p.Burst, p.Rate) })
		}},
		{"refills a little more", []string{"refill"}, func() *backend {
			return withPlan(func(p *driver.Plan) { p.Rate++ })
		}},
		{"has a budget for each limits", []string{"limits-that-change", "strict-limits-that-change"}, func() *backend {
			each := map[driver.Plan]*budget.State{}
			return &backend{acquire: func(b *backend, p *driver.Plan, a driver.Ask) (driver.Grant, error) {
				if each[*p] == nil {
					each[*p] = &budget.State{}
				}
				return each[*p].Acquire(p, a, b.at), nil
			}}
		}},
		{"accepts any ask, and any context", []string{"bad-asks", "cancelled-context"}, func() *backend {
			return &backend{anything: true}
		}},
	}
}

func timeDefects() []defect {
	return []defect{
		{"takes a clock set back for time that passed", []string{"clock-a-little-back", "bound-over-random-histories"}, func() *backend {
			return &backend{move: func(b *backend, d time.Duration) { b.at.Now += max(d, -d).Microseconds() }}
		}},
		{"starts again at every step back", []string{"clock-a-little-back"}, func() *backend {
			return &backend{move: func(b *backend, d time.Duration) {
				if b.at.Now += d.Microseconds(); d < 0 {
					*b.state = budget.State{Day: b.state.Day}
				}
			}}
		}},
		{"waits for a clock that was set far back", []string{"clock-far-back"}, func() *backend {
			newest := int64(0)
			return &backend{acquire: func(b *backend, p *driver.Plan, a driver.Ask) (driver.Grant, error) {
				newest = max(newest, b.at.Now)
				return b.state.Acquire(p, a, budget.Moment{Server: b.at.Server, Now: newest}), nil
			}}
		}},
		{"fills without end while nobody asks", []string{"clock-forward", "clock-steps-are-covered"}, func() *backend {
			last := int64(0)
			return &backend{acquire: func(b *backend, p *driver.Plan, a driver.Ask) (driver.Grant, error) {
				other := *p
				if last != 0 && b.at.Now-last > 2*time.Hour.Microseconds() {
					other.Burst, other.Rate = 10*p.Burst, 10*p.Rate
				}
				last = b.at.Now
				return b.state.Acquire(&other, a, b.at), nil
			}}
		}},
		{"does not notice another server", []string{"another-server"}, func() *backend {
			return &backend{restart: func(*backend) {}}
		}},
		{"rounds RetryAfter to milliseconds", []string{"retry-after-is-exact"}, func() *backend {
			return withGrant(func(_ *backend, _ *driver.Plan, _ driver.Ask, g *driver.Grant) {
				for i := range g.Runs {
					g.Runs[i].RetryAfter = (g.Runs[i].RetryAfter + time.Millisecond - 1).Truncate(time.Millisecond)
				}
			})
		}},
		{"each process has a budget", []string{"two-stores-one-count"}, func() *backend {
			peer := &backend{}
			b := &backend{peer: peer}
			peer.acquire = func(_ *backend, p *driver.Plan, a driver.Ask) (driver.Grant, error) {
				if peer.state == nil {
					peer.state = &budget.State{}
					peer.state.Acquire(p, a, budget.Moment{Server: "0", Now: 1})
				}
				return peer.state.Acquire(p, a, b.at), nil
			}
			return b
		}},
		{"reads, decides, and then writes", []string{"two-stores-one-count"}, readsThenWrites},
	}
}

// readsThenWrites lets two callers both read before either writes.
func readsThenWrites() *backend {
	var mu sync.Mutex
	calls := 0
	second := make(chan struct{})
	return &backend{unlocked: true, acquire: func(b *backend, p *driver.Plan, a driver.Ask) (driver.Grant, error) {
		mu.Lock()
		read := copied(b.state)
		calls++
		n := calls
		mu.Unlock()
		// The first call fills; the second and the third come from two callers.
		switch n {
		case 2:
			<-second
		case 3:
			defer close(second)
		}
		g := read.Acquire(p, a, b.at)
		mu.Lock()
		defer mu.Unlock()
		b.state = read
		return g, nil
	}}
}

func dayDefects() []defect {
	return []defect{
		{"forgets the reserve of the day", []string{"day-and-its-reserve"}, func() *backend {
			return withPlan(func(p *driver.Plan) { p.Day.HighReserve = 0 })
		}},
		{"begins the day at midnight UTC", []string{"day-and-its-reserve"}, func() *backend {
			return withPlan(func(p *driver.Plan) { p.Day.Offset = 0 })
		}},
		{"believes its own count only", []string{"day-survives-a-loss"}, func() *backend {
			return withAsk(func(a *driver.Ask) { a.Day = driver.DayCount{} })
		}},
		{"believes its callers only", []string{"day-survives-a-loss"}, func() *backend {
			return &backend{acquire: func(b *backend, p *driver.Plan, a driver.Ask) (driver.Grant, error) {
				b.state.Day = budget.Day{}
				return b.state.Acquire(p, a, b.at), nil
			}}
		}},
		{"begins a day whenever it is another one", []string{"day-and-a-clock-set-back"}, func() *backend {
			return &backend{acquire: func(b *backend, p *driver.Plan, a driver.Ask) (driver.Grant, error) {
				today := (b.at.Now - p.Day.Offset.Microseconds()) / (24 * time.Hour).Microseconds()
				if b.state.Day.Day != today {
					b.state.Day = budget.Day{}
				}
				if a.Day.Day != today {
					a.Day = driver.DayCount{}
				}
				return b.state.Acquire(p, a, b.at), nil
			}}
		}},
	}
}

func runDefects() []defect {
	return []defect{
		{"has no share for low", []string{"low-share", "low-share-ends"}, func() *backend {
			return withPlan(func(p *driver.Plan) { p.LowShare = 0 })
		}},
		{"has a larger share for low", []string{"low-share"}, func() *backend {
			return withPlan(func(p *driver.Plan) { p.LowShare *= 2 })
		}},
		{"holds the share for longer", []string{"low-share-ends"}, func() *backend {
			return withPlan(func(p *driver.Plan) { p.Hold += time.Millisecond })
		}},
		{"fails for good after an answer was lost", []string{"waits-outlive-lost-answers"}, func() *backend {
			calls := 0
			return &backend{acquire: func(b *backend, p *driver.Plan, a driver.Ask) (driver.Grant, error) {
				if a.Runs[0].Wait {
					calls++
				}
				if calls > 3 { // the answer to the third is kept back
					return driver.Grant{}, errors.New("the connection is broken")
				}
				return b.state.Acquire(p, a, b.at), nil
			}}
		}},
		{"decides the last run first", []string{"runs-are-calls"}, func() *backend {
			return &backend{acquire: func(b *backend, p *driver.Plan, a driver.Ask) (driver.Grant, error) {
				a.Runs = slices.Clone(a.Runs)
				slices.Reverse(a.Runs)
				g := b.state.Acquire(p, a, b.at)
				slices.Reverse(g.Runs)
				return g, nil
			}}
		}},
		{"grants a run as a whole or not at all", []string{"runs-are-calls", "burst-is-the-most"}, func() *backend {
			return &backend{acquire: func(b *backend, p *driver.Plan, a driver.Ask) (driver.Grant, error) {
				before := copied(b.state)
				g := b.state.Acquire(p, a, b.at)
				if g.Runs[0].Granted < a.Runs[0].Count && g.Runs[0].Granted > 0 {
					b.state = before
					g.Runs[0].Granted = 0
				}
				return g, nil
			}}
		}},
		{"says that low can have what high can", []string{"remaining-is-exact"}, func() *backend {
			return withGrant(func(_ *backend, _ *driver.Plan, _ driver.Ask, g *driver.Grant) {
				g.Remaining[ratelimit.Low] = g.Remaining[ratelimit.High]
			})
		}},
		{"never yields", []string{"yield"}, func() *backend {
			return withAsk(func(a *driver.Ask) {
				for i := range a.Runs {
					a.Runs[i].Wait = false
				}
			})
		}},
		{"yields without end", []string{"yield"}, func() *backend {
			return withPlan(func(p *driver.Plan) { p.Yield = time.Hour })
		}},
		{"yields to who does not wait", []string{"yield-only-for-who-waits"}, func() *backend {
			return withAsk(func(a *driver.Ask) {
				for i := range a.Runs {
					a.Runs[i].Wait = true
				}
			})
		}},
	}
}
