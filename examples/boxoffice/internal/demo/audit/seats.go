package audit

import (
	"context"
	"net/http"
	"net/url"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/demo/crowd"
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
				a.find.found(checkTwice, "seat %s is promised to %s (%s) and %s (%s)", name, a.owners[id], id, a.owners[other], other)
			}
			promised[name] = id
		}
	}
	a.find.announce(checkTwice, "%d seats in fans' hands", len(promised))
	sold, err := a.seatPlans(ctx, promised)
	a.find.announce(checkPlan, "%d seats SOLD in the plans", sold)
	if err != nil {
		a.find.found(checkPlan, "%v", err)
	}
}

// seatPlans reads every show's seats and compares them with what is promised.
func (a *audit) seatPlans(ctx context.Context, promised map[string]string) (sold int, err error) {
	do := func(method, path, token, entry string, body, into any) error {
		_, err := a.s.Office.Client.Do(ctx, crowd.Call{Method: method, Path: path, Token: token, Entry: entry, Body: body}, into)
		return err
	}
	var login crowd.Login
	if err := do(http.MethodPost, "/api/login", "", "", map[string]string{"memberId": "auditor"}, &login); err != nil {
		return 0, err
	}
	var shows []crowd.Show
	if err := do(http.MethodGet, "/api/shows", "", "", nil, &shows); err != nil {
		return 0, err
	}
	seen := 0
	for _, show := range shows {
		var place crowd.Place
		if err := do(http.MethodPost, "/api/queue/check/"+url.PathEscape(show.ID), login.Token, "", nil, &place); err != nil {
			return sold, err
		}
		var plan crowd.Seats
		if err := do(http.MethodGet, "/api/seats/"+url.PathEscape(show.ID), login.Token, place.EntryToken, nil, &plan); err != nil {
			return sold, err
		}
		for _, seat := range plan.Seats {
			name := show.ID + " " + seat.ID
			reservation, mine := promised[name]
			switch {
			case mine && seat.Status != "SOLD":
				a.find.found(checkPlan, "seat %s is %s and reservation %s is CONFIRMED", name, seat.Status, reservation)
			case !mine && seat.Status == "SOLD" && !a.s.Foreign:
				a.find.found(checkPlan, "seat %s is SOLD and nobody has a ticket", name)
			case seat.Status == "HOLD" && !a.s.Foreign:
				a.find.found(checkPlan, "seat %s is on HOLD at rest", name)
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
		a.find.found(checkPlan, "%d promised seats are in no plan", len(promised)-seen)
	}
	return sold, nil
}
