package memqueue

import (
	"context"
	"slices"

	"github.com/millrace-go/millrace/queue/driver"
)

func check(ctx context.Context, event string, r driver.Rules) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case event == "":
		return bad("the event has no name")
	case r.Threshold < 0:
		return bad("Rules.Threshold is %d: it must not be negative", r.Threshold)
	case len(r.Lanes) > driver.MaxLanes:
		return bad("%d Rules.Lanes: there may be at most %d", len(r.Lanes), driver.MaxLanes)
	case r.Batch <= 0:
		return bad("Rules.Batch is %d: it must be positive", r.Batch)
	case r.Active <= 0 || r.Seen <= 0 || r.NoShow <= 0 || r.Tick <= 0 || r.SweepEvery <= 0 || r.Settle < 0 || r.Turn < 0 || r.Keep < 0:
		return bad("a duration of the Rules is missing or negative: %+v", r)
	}
	return nil
}

func checkVisits(r driver.Rules, b driver.Beats, visits []driver.Visit) error {
	if len(visits) > driver.MaxVisits {
		return bad("%d visits: a call takes at most %d", len(visits), driver.MaxVisits)
	}
	if len(b.Orders) > driver.MaxBeats {
		return bad("%d beats: a call takes at most %d", len(b.Orders), driver.MaxBeats)
	}
	for _, v := range visits {
		if len(v.User) == 0 || len(v.User) > driver.MaxUser {
			return bad("a user of %d bytes: it must be of 1 to %d", len(v.User), driver.MaxUser)
		}
		if v.Kind > driver.Verify {
			return bad("visit of kind %d: there is no such kind", v.Kind)
		}
		if v.Lane != "" && !slices.ContainsFunc(r.Lanes, func(l driver.Lane) bool { return l.Name == v.Lane }) {
			return bad("a visit with lane %.40q: there is no such lane in the Rules", v.Lane)
		}
		if v.Position < 0 {
			return bad("position %d: positions count from 1", v.Position)
		}
	}
	return nil
}

func checkChange(c driver.Change) error {
	if c.Threshold != nil && *c.Threshold < 0 {
		return bad("threshold %d: it must not be negative", *c.Threshold)
	}
	if c.Settings != nil && (*c.Settings < 0 || *c.Settings > maxOrder) {
		return bad("version %d of the settings: it must be 0 to 2^53", *c.Settings)
	}
	if c.Stock != nil && (c.Stock.Left < 0 || c.Stock.Left > driver.MaxStock) {
		return bad("stock %d: it must be 0 to %d", c.Stock.Left, driver.MaxStock)
	}
	if c.Stock != nil && c.Stock.Gone < 0 {
		return bad("%d users have left before the stock was asked for: it must not be negative", c.Stock.Gone)
	}
	if len(c.Shares) > driver.MaxLanes {
		return bad("shares of %d lanes: there may be at most %d", len(c.Shares), driver.MaxLanes)
	}
	for name, share := range c.Shares {
		if len(name) > driver.MaxUser || !(share >= 0 && share < 1) {
			return bad("share %g of the lane %.40q: it must be of 0 to below 1", share, name)
		}
	}
	if c.Gate != nil && (c.Gate.Positions < 0 || c.Gate.Positions > maxOrder) {
		return bad("%d positions of the gate: it must be of 0 to 2^53", c.Gate.Positions)
	}
	return nil
}
