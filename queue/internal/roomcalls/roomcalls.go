// Package roomcalls refuses calls of a waiting room's store that make no sense, with permanent
// errors: memqueue and redisqueue refuse the same ones.
package roomcalls

import (
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/draws"
	"github.com/millrace-go/millrace/queue/driver"
)

// MaxOrder is the highest order that is exact as a float64.
const MaxOrder = 1 << 53

// Bad is the error of a call that makes no sense.
func Bad(format string, args ...any) error {
	return fault.MarkPermanent(fmt.Errorf(format, args...))
}

// CheckRules checks the rules of any call.
func CheckRules(r driver.Rules) error {
	switch {
	case r.Threshold < 0:
		return Bad("Rules.Threshold is %d; it must not be negative", r.Threshold)
	case len(r.Lanes) > driver.MaxLanes:
		return Bad("Rules.Lanes are %d; give at most %d", len(r.Lanes), driver.MaxLanes)
	case r.Batch <= 0:
		return Bad("Rules.Batch is %d; it must be positive", r.Batch)
	case r.Active <= 0 || r.Seen <= 0 || r.NoShow <= 0 || r.Tick <= 0 || r.SweepEvery <= 0 || r.Settle < 0 || r.Turn < 0 || r.Keep < 0:
		return Bad("a duration of the Rules is missing or negative: %+v", r)
	}
	return nil
}

// LaneOf is the index of a lane; -1 when there is none of the name.
func LaneOf(r driver.Rules, name string) int {
	return slices.IndexFunc(r.Lanes, func(l driver.Lane) bool { return l.Name == name })
}

// CheckVisits checks the arguments of Visit.
func CheckVisits(r driver.Rules, b driver.Beats, visits []driver.Visit) error {
	if len(visits) > driver.MaxVisits {
		return Bad("%d visits; give at most %d", len(visits), driver.MaxVisits)
	}
	if len(b.Orders) > driver.MaxBeats {
		return Bad("%d beats; give at most %d", len(b.Orders), driver.MaxBeats)
	}
	for i := range visits {
		v := &visits[i]
		switch {
		case len(v.User) == 0 || len(v.User) > driver.MaxUser:
			return Bad("a user has %d bytes; it must have 1 to %d", len(v.User), driver.MaxUser)
		case v.Kind > driver.Verify:
			return Bad("a visit of kind %d; there is no such kind", v.Kind)
		case v.Lane != "" && LaneOf(r, v.Lane) < 0:
			return Bad("a visit has the lane %.40q; there is no such lane in the Rules", v.Lane)
		case v.Position < 0:
			return Bad("a position is %d; they count from 1", v.Position)
		}
	}
	return nil
}

// CheckChange checks the argument of Change.
func CheckChange(c driver.Change) error {
	switch s := c.Stock; {
	case c.Threshold != nil && *c.Threshold < 0:
		return Bad("Change.Threshold is %d; it must not be negative", *c.Threshold)
	case c.Settings != nil && (*c.Settings < 0 || *c.Settings > MaxOrder):
		return Bad("Change.Settings is %d; it must be 0 to 2^53", *c.Settings)
	case s != nil && (s.Left < 0 || s.Left > driver.MaxStock):
		return Bad("Change.Stock is %d; it must be 0 to %d", s.Left, driver.MaxStock)
	case s != nil && s.Gone < 0:
		return Bad("Change.Stock.Gone is %d; it must not be negative", s.Gone)
	case len(c.Shares) > driver.MaxLanes:
		return Bad("Change.Shares has %d lanes; give at most %d", len(c.Shares), driver.MaxLanes)
	case c.Gate != nil && (c.Gate.Positions < 0 || c.Gate.Positions > MaxOrder):
		return Bad("Gate.Positions is %d; it must be 0 to 2^53", c.Gate.Positions)
	}
	for name, share := range c.Shares {
		if len(name) > driver.MaxUser || !(share >= 0 && share < 1) {
			return Bad("Change.Shares has %g for the lane %.40q; it must be from 0 to below 1", share, name)
		}
	}
	return nil
}

// CheckStep checks a step of a draw.
func CheckStep(s driver.DrawStep) error {
	switch {
	case s.Kind > driver.DrawOpen:
		return Bad("a step of kind %d; there is no such kind", s.Kind)
	case s.Kind != driver.DrawLook && (s.Holder == 0 || s.Holder > MaxOrder):
		return Bad("DrawStep.Holder is %d; it must be 1 to 2^53", s.Holder)
	case s.From < 0 || s.Most < 0 || s.Most > driver.MaxLeaves && s.Kind != driver.DrawRoot:
		return Bad("a step from %d on, of %d; it must be from 0, and of at most %d", s.From, s.Most, driver.MaxLeaves)
	case len(s.Leaves) > driver.MaxLeaves || len(s.Moves) > driver.MaxMoves:
		return Bad("a step has %d leaves and %d moves; it takes at most %d and %d", len(s.Leaves), len(s.Moves), driver.MaxLeaves, driver.MaxMoves)
	case s.Kind == driver.DrawRoot && len(s.Root) != draws.Size, s.Kind == driver.DrawSeed && len(s.Seed) != draws.Size:
		return Bad("a root of %d bytes and a seed of %d; they have %d", len(s.Root), len(s.Seed), draws.Size)
	}
	return nil
}
