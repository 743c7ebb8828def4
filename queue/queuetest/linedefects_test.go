package queuetest_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/queue/driver"
)

// defect is one way to break a store, and the cases that must fail for it.
type defect struct {
	name   string
	caught []string
	with   hooks
}

// defects lists all defects that the suite must find.
func defects() []defect {
	return slices.Concat(lineDefects(), insideDefects(), stayDefects(), laneDefects(), admitDefects(), sweepDefects(), lookDefects(), outsideDefects(), raceDefects())
}

// asked is a defect that alters the visits.
func asked(alter func(b *backend, c call, v driver.Visit) driver.Visit) hooks {
	return hooks{visit: func(b *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
		visits = slices.Clone(visits)
		for i := range visits {
			visits[i] = alter(b, c, visits[i])
		}
		return c.visit(beats, visits...)
	}}
}

// answered is a defect that alters the answers to visits.
func answered(alter func(b *backend, c call, v driver.Visit, s driver.State, o *driver.Outcome)) hooks {
	return hooks{visit: func(b *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
		before := c.state()
		got, err := c.visit(beats, visits...)
		for i := range got.Outcomes {
			alter(b, c, visits[i], before, &got.Outcomes[i])
		}
		return got, err
	}}
}

// ruled is a defect that alters the rules of visits.
func ruled(alter func(r *driver.Rules)) hooks {
	return hooks{visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
		alter(&c.r)
		return c.visit(beats, visits...)
	}}
}

func lineDefects() []defect {
	return []defect{
		{"lines up by id within a call", []string{"order-within-a-call", "ahead-is-exact"}, hooks{visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			at := make([]int, len(visits))
			for i := range at {
				at[i] = i
			}
			slices.SortStableFunc(at, func(i, j int) int { return cmp.Compare(visits[i].User, visits[j].User) })
			sorted := make([]driver.Visit, len(visits))
			for i, from := range at {
				sorted[i] = visits[from]
			}
			got, err := c.visit(beats, sorted...)
			outcomes := slices.Clone(got.Outcomes)
			for i, o := range outcomes {
				got.Outcomes[at[i]] = o
			}
			return got, err
		}}},
		{"takes the time in ms for the order", []string{"order-of-arrival", "order-within-a-call", "random-walks"},
			answered(func(_ *backend, _ call, _ driver.Visit, s driver.State, o *driver.Outcome) {
				if o.Order > 0 {
					o.Order = s.Now.UnixMilli()
				}
			})},
		{"counts orders from 1", []string{"first-order-is-the-time"}, answered(func(b *backend, _ call, _ driver.Visit, s driver.State, o *driver.Outcome) {
			if o.Order > 0 {
				o.Order -= s.Now.UnixMicro() - 1
			}
		})},
		{"counts those ahead from the ends alone", []string{"ahead-is-exact", "lost-line-forms-again"}, answered(func(_ *backend, _ call, _ driver.Visit, _ driver.State, o *driver.Outcome) {
			o.Ahead -= o.Ahead % 100
		})},
		{"lines a user up again at each check", []string{"one-place-each"}, hooks{visit: func(b *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			visits = slices.Clone(visits)
			for i, v := range visits {
				if v.Kind == driver.Check {
					b.mu.Lock()
					b.notes[v.User]++
					visits[i].User = fmt.Sprint(v.User, b.notes[v.User])
					b.mu.Unlock()
				}
			}
			return c.visit(beats, visits...)
		}}},
		{"says new at each check", []string{"one-place-each", "active-time-is-fixed", "random-walks"},
			answered(func(_ *backend, _ call, v driver.Visit, _ driver.State, o *driver.Outcome) {
				o.New = o.New || v.Kind == driver.Check
			})},
		{"does not say whom a check let in", []string{"enters-at-once", "random-walks"},
			answered(func(_ *backend, _ call, _ driver.Visit, _ driver.State, o *driver.Outcome) { o.Entered = false })},
		{"lets in whoever finds a place", []string{"nobody-passes-the-line", "random-walks"}, answered(func(_ *backend, c call, _ driver.Visit, s driver.State, o *driver.Outcome) {
			if o.New && o.Status == driver.Waiting && s.Active < s.Threshold {
				*o = driver.Outcome{Status: driver.Active, Order: o.Order, Left: c.r.Active, New: true, Entered: true}
			}
		})},
		{"lets one too many in at once", []string{"enters-at-once", "threshold-changes", "arrivals-race-for-places"},
			ruled(func(r *driver.Rules) {
				if r.Threshold > 0 {
					r.Threshold++
				}
			})},
		{"lines up whoever asks", []string{"nobody-is-nobody", "missed-turn-comes-back"}, asked(func(_ *backend, _ call, v driver.Visit) driver.Visit {
			if v.Kind == driver.Heartbeat {
				v.Kind = driver.Check
			}
			return v
		})},
		{"leaves who leaves", []string{"leave-and-done", "ahead-is-exact", "look-is-exact", "concurrent-instances"}, asked(func(_ *backend, _ call, v driver.Visit) driver.Visit {
			if v.Kind == driver.Leave {
				v.Kind = driver.Heartbeat
			}
			return v
		})},
		{"takes who is done out of the line", []string{"leave-and-done"}, asked(func(_ *backend, _ call, v driver.Visit) driver.Visit {
			if v.Kind == driver.Done {
				v.Kind = driver.Leave
			}
			return v
		})},
		{"reads users as C strings", []string{"odd-users"}, asked(func(_ *backend, _ call, v driver.Visit) driver.Visit {
			if i := slices.Index([]byte(v.User), 0); i > 0 {
				v.User = v.User[:i]
			}
			return v
		})},
		{"serves any number of visits, and skips what it does not understand", []string{"bad-calls"}, hooks{visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			beats.Orders = beats.Orders[:min(len(beats.Orders), driver.MaxBeats)]
			visits = slices.DeleteFunc(slices.Clone(visits), func(v driver.Visit) bool {
				return v.User == "" || len(v.User) > 256 || v.Kind > driver.Verify
			})
			return c.visit(beats, visits[:min(len(visits), driver.MaxVisits)]...)
		}}},
		{"goes on when the context has ended", []string{"cancelled-context"}, hooks{visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			c.ctx = context.WithoutCancel(c.ctx)
			return c.visit(beats, visits...)
		}}},
	}
}
