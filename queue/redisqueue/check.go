package redisqueue

import (
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue/driver"
)

func bad(format string, args ...any) error {
	return fault.MarkPermanent(fmt.Errorf(format, args...))
}

func checkRules(event string, r driver.Rules) error {
	switch {
	case event == "" || len(event) > maxEvent:
		return bad("the event has %d bytes; it must have 1 to %d", len(event), maxEvent)
	case unfit(event) >= 0:
		return bad("the event has a brace, a space or what is no text at byte %d; it is the hash tag of the keys", unfit(event))
	case r.Threshold < 0:
		return bad("Rules.Threshold is %d; it must not be negative", r.Threshold)
	case len(r.Lanes) > driver.MaxLanes:
		return bad("Rules.Lanes are %d; give at most %d", len(r.Lanes), driver.MaxLanes)
	case r.Batch <= 0:
		return bad("Rules.Batch is %d; it must be positive", r.Batch)
	case r.Active <= 0 || r.Seen <= 0 || r.NoShow <= 0 || r.Tick <= 0 || r.SweepEvery <= 0 || r.Settle < 0 || r.Turn < 0 || r.Keep < 0:
		return bad("a duration of the Rules is missing or negative: %+v", r)
	}
	return nil
}

// laneOf is the index of a lane; -1 when there is none of the name.
func laneOf(r driver.Rules, name string) int {
	return slices.IndexFunc(r.Lanes, func(l driver.Lane) bool { return l.Name == name })
}

func checkVisits(r driver.Rules, b driver.Beats, visits []driver.Visit) error {
	if len(visits) > driver.MaxVisits {
		return bad("%d visits; give at most %d", len(visits), driver.MaxVisits)
	}
	if len(b.Orders) > driver.MaxBeats {
		return bad("%d beats; give at most %d", len(b.Orders), driver.MaxBeats)
	}
	for i := range visits {
		v := &visits[i]
		switch {
		case len(v.User) == 0 || len(v.User) > driver.MaxUser:
			return bad("a user has %d bytes; it must have 1 to %d", len(v.User), driver.MaxUser)
		case v.Kind > driver.Verify:
			return bad("a visit of kind %d; there is no such kind", v.Kind)
		case v.Lane != "" && laneOf(r, v.Lane) < 0:
			return bad("a visit has the lane %.40q; there is no such lane in the Rules", v.Lane)
		case v.Position < 0:
			return bad("a position is %d; they count from 1", v.Position)
		}
	}
	return nil
}

func checkChange(c driver.Change) error {
	if c.Threshold != nil && *c.Threshold < 0 {
		return bad("Change.Threshold is %d; it must not be negative", *c.Threshold)
	}
	if c.Settings != nil && (*c.Settings < 0 || *c.Settings > maxOrder) {
		return bad("Change.Settings is %d; it must be 0 to 2^53", *c.Settings)
	}
	if c.Stock != nil && (c.Stock.Left < 0 || c.Stock.Left > driver.MaxStock) {
		return bad("Change.Stock is %d; it must be 0 to %d", c.Stock.Left, driver.MaxStock)
	}
	if c.Stock != nil && c.Stock.Gone < 0 {
		return bad("Change.Stock.Gone is %d; it must not be negative", c.Stock.Gone)
	}
	if len(c.Shares) > driver.MaxLanes {
		return bad("Change.Shares has %d lanes; give at most %d", len(c.Shares), driver.MaxLanes)
	}
	for name, share := range c.Shares {
		if len(name) > driver.MaxUser || !(share >= 0 && share < 1) {
			return bad("Change.Shares has %g for the lane %.40q; it must be from 0 to below 1", share, name)
		}
	}
	if c.Gate != nil && (c.Gate.Positions < 0 || c.Gate.Positions > maxOrder) {
		return bad("Gate.Positions is %d; it must be 0 to 2^53", c.Gate.Positions)
	}
	return nil
}
