package queuetest_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/queue"
)

// defect is one way to break a store, and the cases that must fail for it.
type defect struct {
	name   string
	caught []string
	with   func() *backend
}

// defects lists all defects that the suite must find.
func defects() []defect {
	return slices.Concat(lineDefects(), insideDefects(), stayDefects(), laneDefects(), admitDefects(), sweepDefects(), lookDefects(), outsideDefects(), raceDefects())
}

// asked is a defect that alters the visits.
func asked(alter func(b *backend, c call, v queue.Visit) queue.Visit) func() *backend {
	return func() *backend {
		return &backend{visit: func(b *backend, c call, beats queue.Beats, visits []queue.Visit) (queue.Visited, error) {
			visits = slices.Clone(visits)
			for i := range visits {
				visits[i] = alter(b, c, visits[i])
			}
			return c.visit(beats, visits...)
		}}
	}
}

// answered is a defect that alters the answers to visits.
func answered(alter func(b *backend, c call, v queue.Visit, s queue.State, o *queue.Outcome)) func() *backend {
	return func() *backend {
		return &backend{visit: func(b *backend, c call, beats queue.Beats, visits []queue.Visit) (queue.Visited, error) {
			before := c.state()
			got, err := c.visit(beats, visits...)
			for i := range got.Outcomes {
				alter(b, c, visits[i], before, &got.Outcomes[i])
			}
			return got, err
		}}
	}
}

// ruled is a defect that alters the rules of visits.
func ruled(alter func(r *queue.Rules)) func() *backend {
	return func() *backend {
		return &backend{visit: func(_ *backend, c call, beats queue.Beats, visits []queue.Visit) (queue.Visited, error) {
			alter(&c.r)
			return c.visit(beats, visits...)
		}}
	}
}

func lineDefects() []defect {
	return []defect{
		{"lines up by id within a call", []string{"order-within-a-call", "ahead-is-exact"}, func() *backend {
			return &backend{visit: func(_ *backend, c call, beats queue.Beats, visits []queue.Visit) (queue.Visited, error) {
				at := make([]int, len(visits))
				for i := range at {
					at[i] = i
				}
				slices.SortStableFunc(at, func(i, j int) int { return cmp.Compare(visits[i].User, visits[j].User) })
				sorted := make([]queue.Visit, len(visits))
				for i, from := range at {
					sorted[i] = visits[from]
				}
				got, err := c.visit(beats, sorted...)
				outcomes := slices.Clone(got.Outcomes)
				for i, o := range outcomes {
					got.Outcomes[at[i]] = o
				}
				return got, err
			}}
		}},
		{"takes the time in ms for the order", []string{"order-of-arrival", "order-within-a-call", "random-walks"},
			answered(func(_ *backend, _ call, _ queue.Visit, s queue.State, o *queue.Outcome) {
				if o.Order > 0 {
					o.Order = s.Now.UnixMilli()
				}
			})},
		{"counts orders from 1", []string{"first-order-is-the-time"}, answered(func(b *backend, _ call, _ queue.Visit, s queue.State, o *queue.Outcome) {
			if o.Order > 0 {
				o.Order -= s.Now.UnixMicro() - 1
			}
		})},
		{"counts those ahead from the ends alone", []string{"ahead-is-exact", "lost-line-forms-again"}, answered(func(_ *backend, _ call, _ queue.Visit, _ queue.State, o *queue.Outcome) {
			o.Ahead -= o.Ahead % 100
		})},
		{"lines a user up again at each check", []string{"one-place-each"}, func() *backend {
			return &backend{visit: func(b *backend, c call, beats queue.Beats, visits []queue.Visit) (queue.Visited, error) {
				visits = slices.Clone(visits)
				for i, v := range visits {
					if v.Kind == queue.Check {
						b.mu.Lock()
						b.notes[v.User]++
						visits[i].User = fmt.Sprint(v.User, b.notes[v.User])
						b.mu.Unlock()
					}
				}
				return c.visit(beats, visits...)
			}}
		}},
		{"says new at each check", []string{"one-place-each", "active-time-is-fixed", "random-walks"},
			answered(func(_ *backend, _ call, v queue.Visit, _ queue.State, o *queue.Outcome) {
				o.New = o.New || v.Kind == queue.Check
			})},
		{"does not say whom a check let in", []string{"enters-at-once", "random-walks"},
			answered(func(_ *backend, _ call, _ queue.Visit, _ queue.State, o *queue.Outcome) { o.Entered = false })},
		{"lets in whoever finds a place", []string{"nobody-passes-the-line", "random-walks"}, answered(func(_ *backend, c call, _ queue.Visit, s queue.State, o *queue.Outcome) {
			if o.New && o.Status == queue.Waiting && s.Active < s.Threshold {
				*o = queue.Outcome{Status: queue.Active, Order: o.Order, Left: c.r.Active, New: true, Entered: true}
			}
		})},
		{"lets one too many in at once", []string{"enters-at-once", "threshold-changes", "arrivals-race-for-places"},
			ruled(func(r *queue.Rules) {
				if r.Threshold > 0 {
					r.Threshold++
				}
			})},
		{"lines up whoever asks", []string{"nobody-is-nobody", "missed-turn-comes-back"}, asked(func(_ *backend, _ call, v queue.Visit) queue.Visit {
			if v.Kind == queue.Heartbeat {
				v.Kind = queue.Check
			}
			return v
		})},
		{"leaves who leaves", []string{"leave-and-done", "ahead-is-exact", "look-is-exact", "concurrent-instances"}, asked(func(_ *backend, _ call, v queue.Visit) queue.Visit {
			if v.Kind == queue.Leave {
				v.Kind = queue.Heartbeat
			}
			return v
		})},
		{"takes who is done out of the line", []string{"leave-and-done"}, asked(func(_ *backend, _ call, v queue.Visit) queue.Visit {
			if v.Kind == queue.Done {
				v.Kind = queue.Leave
			}
			return v
		})},
		{"reads users as C strings", []string{"odd-users"}, asked(func(_ *backend, _ call, v queue.Visit) queue.Visit {
			if i := slices.Index([]byte(v.User), 0); i > 0 {
				v.User = v.User[:i]
			}
			return v
		})},
		{"serves any number of visits, and skips what it does not understand", []string{"bad-calls"}, func() *backend {
			return &backend{visit: func(_ *backend, c call, beats queue.Beats, visits []queue.Visit) (queue.Visited, error) {
				beats.Orders = beats.Orders[:min(len(beats.Orders), queue.MaxBeats)]
				visits = slices.DeleteFunc(slices.Clone(visits), func(v queue.Visit) bool {
					return v.User == "" || len(v.User) > 256 || v.Kind > queue.Verify
				})
				return c.visit(beats, visits[:min(len(visits), queue.MaxVisits)]...)
			}}
		}},
		{"goes on when the context has ended", []string{"cancelled-context"}, func() *backend {
			return &backend{visit: func(_ *backend, c call, beats queue.Beats, visits []queue.Visit) (queue.Visited, error) {
				c.ctx = context.WithoutCancel(c.ctx)
				return c.visit(beats, visits...)
			}}
		}},
	}
}
