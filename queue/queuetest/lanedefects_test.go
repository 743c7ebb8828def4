package queuetest_test

import (
	"slices"

	"github.com/millrace-go/millrace/queue/driver"
)

// shared is a defect of the shares by which turns come.
func shared(share float64) hooks {
	return admitting(func(_ *backend, c call) (driver.Admission, error) {
		c.r.Lanes = slices.Clone(c.r.Lanes)
		for i := range c.r.Lanes {
			c.r.Lanes[i].Share = share
		}
		return c.admit()
	})
}

func laneDefects() []defect {
	return []defect{
		{"keeps no place", []string{"kept-place-after-silence", "kept-place-is-used-once", "returners-take-every-fourth-turn", "random-walks"}, ruled(func(r *driver.Rules) { r.Keep = 0 })},
		{"keeps a place for ever", []string{"no-place-is-kept"}, ruled(func(r *driver.Rules) { r.Keep *= 1000 })},
		{"gives a kept place to any ticket", []string{"no-place-is-kept", "kept-place-is-used-once", "random-walks"}, answered(func(_ *backend, c call, v driver.Visit, s driver.State, o *driver.Outcome) {
			if o.New && o.Status == driver.Waiting && v.Epoch == s.Epoch {
				o.Order, o.Ahead, o.Returner = v.Order, s.Returning, true
			}
		})},
		{"does not say that a user is a returner", []string{"kept-place-after-silence", "missed-turn-comes-back", "random-walks"}, answered(func(_ *backend, _ call, _ driver.Visit, _ driver.State, o *driver.Outcome) {
			o.Returner = false
		})},
		{"counts returners as ahead", []string{"returners-raise-no-position", "random-walks"}, answered(func(_ *backend, c call, v driver.Visit, s driver.State, o *driver.Outcome) {
			if o.Status == driver.Waiting && !o.Returner && !o.Turn {
				o.Ahead += s.Returning
			}
		})},
		{"takes turns of returners for equal", []string{"returners-take-places-in-order"}, answered(func(_ *backend, _ call, _ driver.Visit, _ driver.State, o *driver.Outcome) {
			if o.Turn && o.Returner {
				o.Ahead = 0
			}
		})},
		{"gives turns of returners before the line", []string{"returners-take-every-fourth-turn", "random-walks"}, admitting(func(_ *backend, c call) (driver.Admission, error) {
			a, err := c.admit()
			slices.SortFunc(a.Admitted, func(a, b driver.Admitted) int { return int(a.Order - b.Order) })
			return a, err
		})},
		{"gives returners no turns", []string{"returners-take-every-fourth-turn", "kept-place-is-used-once", "random-walks"}, admitting(func(_ *backend, c call) (driver.Admission, error) {
			before := c.state()
			a, err := c.admit()
			if called := a.Waiting - before.Waiting; called != 0 || before.Returning == 0 || len(a.Admitted) < 2 {
				return a, err
			}
			a.Admitted = slices.DeleteFunc(a.Admitted, func(one driver.Admitted) bool { return one.Order < a.Admitted[0].Order })
			return a, err
		})},
		{"counts turns of lanes as ahead", []string{"lanes-raise-no-position", "random-walks"}, answered(func(_ *backend, _ call, _ driver.Visit, s driver.State, o *driver.Outcome) {
			if o.Status == driver.Waiting && !o.Returner && !o.Turn {
				o.Ahead += s.Laned
			}
		})},
		{"gives a lane no turns", []string{"lanes-take-their-share"}, shared(1e-6)},
		{"gives a lane all turns", []string{"lanes-take-their-share"}, shared(1)},
		{"does not say which turns are of lanes", []string{"lanes-take-their-share"}, admitting(func(_ *backend, c call) (driver.Admission, error) {
			a, err := c.admit()
			for i := range a.Admitted {
				a.Admitted[i].Laned = false
			}
			return a, err
		})},
		{"ignores shares of operators", []string{"shares-of-operators-hold"}, changing(func(_ *backend, c call, change driver.Change) (driver.State, error) {
			change.Shares = nil
			return c.change(change)
		})},
		{"takes a change without shares for none", []string{"shares-of-operators-hold"}, changing(func(_ *backend, c call, change driver.Change) (driver.State, error) {
			if change.Settings != nil && change.Shares == nil {
				change.Shares = map[string]float64{}
			}
			return c.change(change)
		})},
		{"takes shares of older settings", []string{"shares-of-operators-hold"}, changing(func(_ *backend, c call, change driver.Change) (driver.State, error) {
			if change.Settings != nil && change.Shares != nil {
				change.Settings = new(max(*change.Settings, c.state().Settings))
			}
			return c.change(change)
		})},
		{"lets a user of a lane stand nowhere else", []string{"lane-members-stand-in-line"}, answered(func(_ *backend, _ call, v driver.Visit, _ driver.State, o *driver.Outcome) {
			if o.Status == driver.Waiting && v.User[0] == 'm' {
				o.Ahead = 0
			}
		})},
	}
}
