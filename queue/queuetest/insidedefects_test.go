package queuetest_test

import (
	"time"

	"github.com/millrace-go/millrace/queue"
)

func insideDefects() []defect {
	return []defect{
		{"verifies any entry of who is inside", []string{"verify-by-entry", "random-walks"}, asked(func(_ *backend, _ call, v queue.Visit) queue.Visit {
			if v.Kind == queue.Verify {
				v.Kind = queue.Heartbeat
			}
			return v
		})},
		{"prolongs the time at each sign of life", []string{"active-time-is-fixed", "random-walks"}, answered(func(_ *backend, c call, _ queue.Visit, _ queue.State, o *queue.Outcome) {
			if o.Status == queue.Active {
				o.Left = c.r.Active
			}
		})},
		{"lets nobody's time end", []string{"active-time-is-fixed", "expired-take-no-place", "random-walks"}, func() *backend {
			return &backend{
				visit: func(_ *backend, c call, beats queue.Beats, visits []queue.Visit) (queue.Visited, error) {
					active := c.r.Active
					c.r.Active, c.r.Seen = 1000*time.Hour, 1000*time.Hour
					got, err := c.visit(beats, visits...)
					for i := range got.Outcomes {
						got.Outcomes[i].Left = min(got.Outcomes[i].Left, active)
					}
					return got, err
				},
			}
		}},
		{"counts who expired until somebody clears up", []string{"expired-take-no-place"}, func() *backend {
			return &backend{
				visit: func(b *backend, c call, beats queue.Beats, visits []queue.Visit) (queue.Visited, error) {
					got, err := c.visit(beats, visits...)
					b.mu.Lock()
					defer b.mu.Unlock()
					b.notes[c.event] = max(b.notes[c.event], int64(got.Active))
					got.Active = int(b.notes[c.event])
					return got, err
				},
				admit: func(b *backend, c call) (queue.Admission, error) {
					b.mu.Lock()
					b.notes[c.event] = 0
					b.mu.Unlock()
					return c.admit()
				},
			}
		}},
		{"keeps who is silent inside", []string{"silent-inside-are-out"}, ruled(func(r *queue.Rules) { r.Seen = 1000 * time.Hour })},
		{"counts no takers", []string{"turn-takes-a-place", "silent-turns-hold-up-nobody"}, func() *backend {
			return &backend{admit: func(_ *backend, c call) (queue.Admission, error) {
				s := c.state()
				n := s.Threshold
				if _, err := c.change(queue.Change{Threshold: new(n + s.Entitled - s.Silent)}); err != nil {
					return queue.Admission{}, err
				}
				a, err := c.admit()
				if _, err := c.change(queue.Change{Threshold: &n}); err != nil {
					return a, err
				}
				a.Threshold = n
				return a, err
			}}
		}},
		{"tells no turn", []string{"turn-takes-a-place", "silent-turns-hold-up-nobody", "no-show-ends-the-turn", "random-walks"},
			answered(func(_ *backend, _ call, _ queue.Visit, _ queue.State, o *queue.Outcome) { o.Turn = false })},
		{"lets any entitled user take a place", []string{"silent-turns-hold-up-nobody", "random-walks"},
			answered(func(_ *backend, c call, _ queue.Visit, s queue.State, o *queue.Outcome) {
				if o.Turn && s.Active < s.Threshold {
					*o = queue.Outcome{Status: queue.Active, Order: o.Order, Left: c.r.Active, New: true, Entered: true}
				}
			})},
		{"starts the time at the turn", []string{"first-poll-starts-the-time"}, answered(func(_ *backend, _ call, v queue.Visit, _ queue.State, o *queue.Outcome) {
			if o.Entered && v.Kind == queue.Heartbeat {
				o.Left -= time.Second
			}
		})},
		{"reserves places", []string{"silent-turns-hold-up-nobody", "random-walks"}, func() *backend {
			return &backend{admit: func(_ *backend, c call) (queue.Admission, error) {
				c.r.Turn = 0
				return c.admit()
			}}
		}},
		{"keeps the turns of no-shows", []string{"no-show-ends-the-turn", "missed-turn-comes-back", "random-walks"}, func() *backend {
			return &backend{admit: func(_ *backend, c call) (queue.Admission, error) {
				c.r.NoShow = 1000 * time.Hour
				return c.admit()
			}}
		}},
		{"ends turns too soon", []string{"no-show-ends-the-turn", "random-walks"}, func() *backend {
			return &backend{admit: func(_ *backend, c call) (queue.Admission, error) {
				c.r.NoShow /= 3
				return c.admit()
			}}
		}},
		{"forgets who missed the turn", []string{"missed-turn-comes-back", "random-walks"}, func() *backend {
			return &backend{visit: func(_ *backend, c call, beats queue.Beats, visits []queue.Visit) (queue.Visited, error) {
				for _, v := range visits {
					if v.Kind != queue.Check || v.User == "" || len(v.User) > 256 {
						continue
					}
					is, err := c.visit(queue.Beats{}, queue.Visit{Kind: queue.Heartbeat, User: v.User})
					if err != nil {
						return is, err
					}
					if is.Outcomes[0].Status != queue.None {
						continue
					}
					if is, err = c.visit(queue.Beats{}, queue.Visit{Kind: queue.Leave, User: v.User}); err != nil {
						return is, err
					}
				}
				return c.visit(beats, visits...)
			}}
		}},
		{"keeps a missed turn for ever", []string{"missed-turn-comes-back"}, func() *backend {
			return &backend{admit: func(_ *backend, c call) (queue.Admission, error) {
				c.r.Seen *= 10
				return c.admit()
			}}
		}},
	}
}
