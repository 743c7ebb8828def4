package queuetest_test

import (
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

func insideDefects() []defect {
	return []defect{
		{"verifies any entry of who is inside", []string{"verify-by-entry", "random-walks"}, asked(func(_ *backend, _ call, v driver.Visit) driver.Visit {
			if v.Kind == driver.Verify {
				v.Kind = driver.Heartbeat
			}
			return v
		})},
		{"prolongs the time at each sign of life", []string{"active-time-is-fixed", "random-walks"}, answered(func(_ *backend, c call, _ driver.Visit, _ driver.State, o *driver.Outcome) {
			if o.Status == driver.Active {
				o.Left = c.r.Active
			}
		})},
		{"lets nobody's time end", []string{"active-time-is-fixed", "expired-take-no-place", "random-walks"}, hooks{
			visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
				active := c.r.Active
				c.r.Active, c.r.Seen = 1000*time.Hour, 1000*time.Hour
				got, err := c.visit(beats, visits...)
				for i := range got.Outcomes {
					got.Outcomes[i].Left = min(got.Outcomes[i].Left, active)
				}
				return got, err
			},
		}},
		{"counts who expired until somebody clears up", []string{"expired-take-no-place"}, hooks{
			visit: func(b *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
				got, err := c.visit(beats, visits...)
				b.mu.Lock()
				defer b.mu.Unlock()
				b.notes[c.event] = max(b.notes[c.event], int64(got.Active))
				got.Active = int(b.notes[c.event])
				return got, err
			},
			admit: func(b *backend, c call) (driver.Admission, error) {
				b.mu.Lock()
				b.notes[c.event] = 0
				b.mu.Unlock()
				return c.admit()
			},
		}},
		{"keeps who is silent inside", []string{"silent-inside-are-out"}, ruled(func(r *driver.Rules) { r.Seen = 1000 * time.Hour })},
		{"counts no takers", []string{"turn-takes-a-place", "silent-turns-hold-up-nobody"}, hooks{admit: func(_ *backend, c call) (driver.Admission, error) {
			s := c.state()
			n := s.Threshold
			if _, err := c.change(driver.Change{Threshold: new(n + s.Entitled - s.Silent)}); err != nil {
				return driver.Admission{}, err
			}
			a, err := c.admit()
			if _, err := c.change(driver.Change{Threshold: &n}); err != nil {
				return a, err
			}
			a.Threshold = n
			return a, err
		}}},
		{"tells no turn", []string{"turn-takes-a-place", "silent-turns-hold-up-nobody", "no-show-ends-the-turn", "random-walks"},
			answered(func(_ *backend, _ call, _ driver.Visit, _ driver.State, o *driver.Outcome) { o.Turn = false })},
		{"lets any entitled user take a place", []string{"silent-turns-hold-up-nobody", "random-walks"},
			answered(func(_ *backend, c call, _ driver.Visit, s driver.State, o *driver.Outcome) {
				if o.Turn && s.Active < s.Threshold {
					*o = driver.Outcome{Status: driver.Active, Order: o.Order, Left: c.r.Active, New: true, Entered: true}
				}
			})},
		{"starts the time at the turn", []string{"first-poll-starts-the-time"}, answered(func(_ *backend, _ call, v driver.Visit, _ driver.State, o *driver.Outcome) {
			if o.Entered && v.Kind == driver.Heartbeat {
				o.Left -= time.Second
			}
		})},
		{"reserves places", []string{"silent-turns-hold-up-nobody", "random-walks"}, hooks{admit: func(_ *backend, c call) (driver.Admission, error) {
			c.r.Turn = 0
			return c.admit()
		}}},
		{"keeps the turns of no-shows", []string{"no-show-ends-the-turn", "missed-turn-comes-back", "random-walks"}, hooks{admit: func(_ *backend, c call) (driver.Admission, error) {
			c.r.NoShow = 1000 * time.Hour
			return c.admit()
		}}},
		{"ends turns too soon", []string{"no-show-ends-the-turn", "random-walks"}, hooks{admit: func(_ *backend, c call) (driver.Admission, error) {
			c.r.NoShow /= 3
			return c.admit()
		}}},
		{"forgets who missed the turn", []string{"missed-turn-comes-back", "random-walks"}, hooks{visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			for _, v := range visits {
				if v.Kind != driver.Check || v.User == "" || len(v.User) > 256 {
					continue
				}
				is, err := c.visit(driver.Beats{}, driver.Visit{Kind: driver.Heartbeat, User: v.User})
				if err != nil {
					return is, err
				}
				if is.Outcomes[0].Status != driver.None {
					continue
				}
				if is, err = c.visit(driver.Beats{}, driver.Visit{Kind: driver.Leave, User: v.User}); err != nil {
					return is, err
				}
			}
			return c.visit(beats, visits...)
		}}},
		{"keeps a missed turn for ever", []string{"missed-turn-comes-back"}, hooks{admit: func(_ *backend, c call) (driver.Admission, error) {
			c.r.Seen *= 10
			return c.admit()
		}}},
	}
}
