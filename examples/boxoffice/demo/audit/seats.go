package audit

import (
	"context"
	"strings"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

// judgeSeats compares the seat plans with the fans' tickets.
func (a *audit) judgeSeats(ctx context.Context) {
	promised := map[string]string{} // "event seat" → reservation
	for id, t := range a.tickets {
		if t.Status != crowd.Confirmed {
			continue
		}
		for _, seat := range t.SeatIDs {
			name := t.EventID + " " + seat
			if other, taken := promised[name]; taken {
				a.find.Fault(checkTwice, "seat %s is promised to %s (%s) and %s (%s)", name, a.owners[id], id, a.owners[other], other)
			}
			promised[name] = id
		}
	}
	a.find.Announce(checkTwice, "%d seats in fans' hands", len(promised))
	sold, err := a.seatPlans(ctx, promised)
	a.find.Announce(checkPlan, "%d seats SOLD in the plans", sold)
	if err != nil {
		a.find.Fault(checkPlan, "%v", err)
	}
}

// seatPlans reads every show's seats and compares them with the promised ones.
func (a *audit) seatPlans(ctx context.Context, promised map[string]string) (sold int, err error) {
	v := visitor{client: a.s.Office.Client}
	shows, err := v.arrive(ctx)
	if err != nil {
		return 0, err
	}
	seen := 0
	for _, show := range shows {
		plan, err := v.plan(ctx, show)
		if err != nil {
			return sold, err
		}
		if plan == nil { // nobody is admitted any more: every seat is sold, and so has a ticket
			mine := ofShow(promised, show.ID)
			if mine != show.Seats.Total && !a.s.Foreign {
				a.find.Fault(checkPlan, "%s is sold out with %d seats and fans have tickets for %d", show.ID, show.Seats.Total, mine)
			}
			seen, sold = seen+mine, sold+show.Seats.Total
			continue
		}
		for _, seat := range plan {
			name := show.ID + " " + seat.ID
			reservation, mine := promised[name]
			switch {
			case mine && seat.Status != "SOLD":
				a.find.Fault(checkPlan, "seat %s is %s and reservation %s is CONFIRMED", name, seat.Status, reservation)
			case !mine && seat.Status == "SOLD" && !a.s.Foreign:
				a.find.Fault(checkPlan, "seat %s is SOLD and nobody has a ticket", name)
			case seat.Status == "HOLD" && !a.s.Foreign:
				a.find.Fault(checkPlan, "seat %s is on HOLD at rest", name)
			}
			if mine {
				seen++
			}
			if seat.Status == "SOLD" {
				sold++
			}
		}
	}
	if seen != len(promised) {
		a.find.Fault(checkPlan, "%d promised seats are in no plan", len(promised)-seen)
	}
	return sold, nil
}

// ofShow counts the promised seats of a show.
func ofShow(promised map[string]string, show string) (n int) {
	for name := range promised {
		if strings.HasPrefix(name, show+" ") {
			n++
		}
	}
	return n
}
