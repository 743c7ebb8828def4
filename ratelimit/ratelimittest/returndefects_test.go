package ratelimittest_test

import (
	"time"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/internal/budget"
)

func returnDefects() []defect {
	return []defect{
		{"takes nothing back", []string{"return-gives-back", "return-to-the-day", "strict-return"}, func() *backend {
			return &backend{giveBack: func(*backend, *driver.Plan, driver.Returned) {}}
		}},
		{"fills above the burst", []string{"return-fills-no-higher"}, func() *backend {
			return &backend{giveBack: func(b *backend, p *driver.Plan, r driver.Returned) {
				b.state.Return(p, r, b.at)
				b.state.Buckets.Global.Tokens += int64(r.Size) * 1_000_000
			}, acquire: func(b *backend, p *driver.Plan, a driver.Ask) (driver.Grant, error) {
				other := *p
				other.Burst *= 2
				g := b.state.Acquire(&other, a, b.at)
				return g, nil
			}}
		}},
		{"takes permits back for longer", []string{"return-too-late"}, func() *backend {
			return withReturn(func(_ *backend, p *driver.Plan, _ *driver.Returned) { p.Delay *= 2 })
		}},
		{"does not look when it was granted", []string{"return-too-late", "bound-with-returns"}, func() *backend {
			return withReturn(func(b *backend, _ *driver.Plan, r *driver.Returned) { r.At = b.at.Now })
		}},
		{"takes the whole size back", []string{"bound-with-returns"}, func() *backend {
			return withReturn(func(b *backend, p *driver.Plan, r *driver.Returned) {
				if age := b.at.Now - r.At; !p.Strict && age > 0 && age <= p.Delay.Microseconds() {
					r.At = b.at.Now
				}
			})
		}},
		{"takes back what lost state has granted", []string{"return-of-lost-state"}, func() *backend {
			return withReturn(func(b *backend, p *driver.Plan, r *driver.Returned) {
				if b.state.Buckets.Born >= r.At {
					b.state.Buckets.Born = r.At - 1
				}
			})
		}},
		{"keeps the count of the day", []string{"return-to-the-day"}, func() *backend {
			return &backend{giveBack: func(b *backend, p *driver.Plan, r driver.Returned) {
				day := b.state.Day
				b.state.Return(p, r, b.at)
				b.state.Day = day
			}}
		}},
		{"takes yesterday's permit back today", []string{"return-to-the-day"}, func() *backend {
			return &backend{giveBack: func(b *backend, p *driver.Plan, r driver.Returned) {
				used := b.state.Day.Used
				b.state.Return(p, r, b.at)
				if b.state.Day.Used == used {
					b.state.Day.Used = max(0, used-int64(r.Size))
				}
			}}
		}},
	}
}

func strictDefects() []defect {
	return []defect{
		{"does not block after a loss", []string{"strict-missing-blocks", "bound-over-random-histories"}, func() *backend {
			return withGrant(func(b *backend, p *driver.Plan, a driver.Ask, g *driver.Grant) {
				if born := &b.state.Windows.Global.Born; p.Strict && *born == b.at.Now {
					*born -= p.Window.Microseconds()
				}
			})
		}},
		{"has a window of a second", []string{"strict-window-is-exact", "strict-low", "bound-over-random-histories"}, func() *backend {
			return withPlan(func(p *driver.Plan) { p.Window = time.Second })
		}},
		{"has a window 1 % too long", []string{"strict-is-used-fully"}, func() *backend {
			return withPlan(func(p *driver.Plan) { p.Window += p.Window / 100 })
		}},
		{"has no window for low", []string{"strict-low"}, func() *backend {
			return withPlan(func(p *driver.Plan) { p.LowRate = p.Rate })
		}},
		{"takes the newest entries out", []string{"strict-return"}, func() *backend {
			return withReturn(func(b *backend, p *driver.Plan, r *driver.Returned) {
				if ring := b.state.Windows.Global; p.Strict && ring.Count > 0 {
					newest := ring.Times[(ring.Count-1)%ring.Size]
					r.At, r.Priority = newest, ratelimit.High
				}
			})
		}},
		{"counts fixed windows", []string{"strict-window-is-exact", "bound-over-random-histories"}, func() *backend {
			return &backend{acquire: func(b *backend, p *driver.Plan, a driver.Ask) (driver.Grant, error) {
				if !p.Strict {
					return b.state.Acquire(p, a, b.at), nil
				}
				window := p.Window.Microseconds()
				begun := budget.Moment{Server: b.at.Server, Now: b.at.Now / window * window}
				return b.state.Acquire(p, a, begun), nil
			}}
		}},
	}
}
