package audit

import (
	"context"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

// judgeLimits counts the seats that each fan had of each show: the seats that it bought in
// the end, transferred or not, and those that it had when it tried to take more.
func (a *audit) judgeLimits(ctx context.Context) {
	v := visitor{client: a.s.Office.Client}
	shows, err := v.arrive(ctx)
	if err != nil {
		a.find.Fault(checkLimits, "the shows: %v", err)
	}
	limits := map[string]crowd.Limits{}
	for _, show := range shows {
		limits[show.ID] = show.Limits
	}
	grasps, asked, most := 0, 0, 0
	for _, rec := range a.records {
		bought := map[string]int{}
		for _, r := range rec.Reservations {
			if t := a.tickets[r.ID]; t.Status == crowd.Confirmed {
				bought[r.EventID] += len(t.SeatIDs)
			}
		}
		for show, n := range bought {
			if most = max(most, n); n > limits[show].Bought {
				a.find.Fault(checkLimits, "%s bought %d seats of %s, which allows %d", rec.Member, n, show, limits[show].Bought)
			}
		}
		if g := rec.Grasp; g != nil {
			grasps, asked, most = grasps+1, asked+g.Asked, max(most, g.Held+g.Bought)
			if limit := limits[g.EventID]; g.Held > limit.Held || g.Held+g.Bought > limit.Bought {
				a.find.Fault(checkLimits, "%s held %d seats of %s at once and had bought %d, where %d and %d are allowed",
					rec.Member, g.Held, g.EventID, g.Bought, limit.Held, limit.Bought)
			}
		}
	}
	a.find.Announce(checkLimits, "at most %d seats; %d fans grasped at %d more", most, grasps, asked)
}

// judgeLate looks for accepted payments that came too late: fans in this crowd give no hold
// back that they have paid for.
func (a *audit) judgeLate() {
	accepted := 0
	for _, p := range a.payments {
		if p.Type != "reservation" {
			continue
		}
		accepted++
		if p.Status == crowd.Refunded && !p.GaveBack {
			a.find.Fault(checkLate, "payment %s of %s was accepted, and refunded without being asked for", p.ID, p.member)
		}
	}
	a.find.Announce(checkLate, "%d payments for seats were accepted", accepted)
}
