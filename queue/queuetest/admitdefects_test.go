package queuetest_test

import (
	"slices"
	"strings"

	"github.com/millrace-go/millrace/queue/driver"
)

// admitting is a defect of admission.
func admitting(admit func(b *backend, c call) (driver.Admission, error)) hooks {
	return hooks{admit: admit}
}

// with carries out one change, admits, and takes the change back.
func with(c call, there, back driver.Change) (driver.Admission, error) {
	if _, err := c.change(there); err != nil {
		return driver.Admission{}, err
	}
	a, err := c.admit()
	if _, err := c.change(back); err != nil {
		return a, err
	}
	return a, err
}

func admitDefects() []defect {
	return []defect{
		{"loses the first of an admission", []string{"order-of-arrival", "admission-in-chunks", "admissions-race", "random-walks"},
			admitting(func(_ *backend, c call) (driver.Admission, error) {
				a, err := c.admit()
				if len(a.Admitted) > 1 {
					_, err = c.visit(driver.Beats{}, driver.Visit{Kind: driver.Leave, User: a.Admitted[0].User})
					a.Admitted = a.Admitted[1:]
				}
				return a, err
			})},
		{"admits by id", []string{"order-of-arrival", "order-within-a-call", "nobody-passes-the-line", "random-walks"},
			admitting(func(_ *backend, c call) (driver.Admission, error) {
				a, err := c.admit()
				slices.SortFunc(a.Admitted, func(a, b driver.Admitted) int { return strings.Compare(a.User, b.User) })
				return a, err
			})},
		{"admits one too many", []string{"threshold-changes", "turn-takes-a-place", "random-walks"},
			admitting(func(_ *backend, c call) (driver.Admission, error) {
				n := c.state().Threshold
				a, err := with(c, driver.Change{Threshold: new(n + 1)}, driver.Change{Threshold: &n})
				a.Threshold = n
				return a, err
			})},
		{"admits while paused", []string{"pause-and-resume", "random-walks"},
			admitting(func(_ *backend, c call) (driver.Admission, error) {
				if !c.state().Paused {
					return c.admit()
				}
				return with(c, driver.Change{Paused: new(false)}, driver.Change{Paused: new(true)})
			})},
		{"admits in calls of any size", []string{"admission-in-chunks", "tick-guard"},
			admitting(func(_ *backend, c call) (driver.Admission, error) {
				var let []driver.Admitted
				for {
					a, err := c.admit()
					if let = append(let, a.Admitted...); err != nil || !a.More {
						a.Admitted = let
						return a, err
					}
				}
			})},
		{"has no tick", []string{"tick-guard", "random-walks"}, admitting(func(_ *backend, c call) (driver.Admission, error) {
			c.r.Batch = 1_000_000
			return c.admit()
		})},
		{"has the last tick for ever", []string{"tick-guard", "random-walks"}, admitting(func(_ *backend, c call) (driver.Admission, error) {
			tick := c.r.Tick
			c.r.Tick *= 1000
			a, err := c.admit()
			a.Next = min(a.Next, tick)
			return a, err
		})},
		{"does not say that there are more", []string{"admission-in-chunks"}, admitting(func(_ *backend, c call) (driver.Admission, error) {
			a, err := c.admit()
			a.More = false
			return a, err
		})},
		{"counts all admissions for the rate", []string{"rate-of-admissions"}, hooks{visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			got, err := c.visit(beats, visits...)
			got.Rate.Admitted = int(got.Entered)
			return got, err
		}}},
		{"does not heed a threshold", []string{"threshold-changes", "nobody-passes-the-line", "random-walks"}, hooks{change: func(_ *backend, c call, change driver.Change) (driver.State, error) {
			n := change.Threshold
			change.Threshold = nil
			s, err := c.change(change)
			if n != nil && err == nil {
				s.Threshold = *n
			}
			return s, err
		}}},
	}
}
