package audit

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

// askFans reads, as every fan, the fan's tickets and payments.
func (a *audit) askFans(ctx context.Context) {
	holds, payments := 0, 0
	for _, rec := range a.records {
		holds, payments = holds+len(rec.Reservations), payments+len(rec.Payments)
	}
	a.find.Announce(checkReservations, "%d reservations", holds)
	a.find.Announce(checkPayments, "%d payments", payments)
	a.announceInboxes()
	places := make(chan struct{}, 16)
	var wg sync.WaitGroup
	for _, rec := range a.records {
		if rec.Token == "" {
			continue
		}
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			a.askFan(ctx, rec)
		})
	}
	wg.Wait()
}

func (a *audit) askFan(ctx context.Context, rec *crowd.Record) {
	a.askTickets(ctx, rec.Member, rec.Token)
	paid := 0 // for memberships
	if rec.Friend != nil {
		a.askTickets(ctx, rec.Friend.Member, rec.Friend.Token)
	}
	for _, told := range rec.Payments {
		if told.ID == "" {
			continue
		}
		var is crowd.PaymentAnswer
		if _, err := a.s.Office.Client.Do(ctx, crowd.Call{Method: http.MethodGet, Path: "/api/payments/" + url.PathEscape(told.ID), Token: rec.Token}, &is); err != nil {
			a.find.Fault(checkPayments, "payment %s of %s: %v", told.ID, rec.Member, err)
			continue
		}
		a.judgeTold(*told, is)
		now := *told
		if now.Status = is.Status; now.Type == "membership" && now.Status == crowd.Success {
			paid++
		}
		a.mu.Lock()
		a.payments = append(a.payments, payment{now, rec.Member})
		a.mu.Unlock()
	}
	if rec.Plan == crowd.PlanMembership {
		a.askMemberships(ctx, rec, paid)
	}
	a.askCommunity(ctx, rec)
}

// askMemberships wants an active membership for each that was paid.
func (a *audit) askMemberships(ctx context.Context, rec *crowd.Record, paid int) {
	var mine crowd.Memberships
	if _, err := a.s.Office.Client.Do(ctx, crowd.Call{Method: http.MethodGet, Path: "/api/me/memberships", Token: rec.Token}, &mine); err != nil {
		a.find.Fault(checkPaid, "the memberships of %s: %v", rec.Member, err)
		return
	}
	active := 0
	for _, m := range mine.Memberships {
		if m.Status == crowd.Active {
			active++
		}
	}
	if active != paid {
		a.find.Fault(checkPaid, "%s paid for %d memberships and has %d", rec.Member, paid, active)
	}
}

func (a *audit) askTickets(ctx context.Context, member, token string) {
	var mine crowd.Tickets
	if _, err := a.s.Office.Client.Do(ctx, crowd.Call{Method: http.MethodGet, Path: "/api/me/tickets", Token: token}, &mine); err != nil {
		a.find.Fault(checkReservations, "the tickets of %s: %v", member, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range mine.Tickets {
		if other, ok := a.owners[t.ReservationID]; ok {
			a.find.Fault(checkReservations, "reservation %s belongs to %s and to %s", t.ReservationID, other, member)
		}
		a.tickets[t.ReservationID], a.owners[t.ReservationID] = t, member
	}
}

// judgeTold compares an earlier answer about a payment with the current one.
func (a *audit) judgeTold(told crowd.Payment, is crowd.PaymentAnswer) {
	switch {
	case is.PaymentID != told.ID || is.Amount != told.Amount:
		a.find.Fault(checkPayments, "payment %s of %d is now %s of %d", told.ID, told.Amount, is.PaymentID, is.Amount)
	case told.Status == crowd.Success && is.Status == crowd.Refunded && told.Confirmed && !told.GaveBack:
		a.find.Fault(checkPayments, "payment %s was confirmed, and refunded without being asked", told.ID)
	case told.Status == crowd.Success && is.Status != crowd.Success && is.Status != crowd.Refunded,
		told.Status == crowd.Failed && is.Status != crowd.Failed,
		told.Status == crowd.Refunded && is.Status != crowd.Refunded:
		a.find.Fault(checkPayments, "payment %s was told to be %s and is %s", told.ID, told.Status, is.Status)
	}
}

// judgeReservations compares every hold in the answers to a fan with the fan's
// tickets. In an office of the crowd's own at least the first fan gets seats.
func (a *audit) judgeReservations() {
	holds, without := 0, 0
	for _, rec := range a.records {
		if holds += len(rec.Reservations); rec.End == crowd.EndSoldOut {
			without++
		}
		for _, told := range rec.Reservations {
			is, ok := a.tickets[told.ID]
			gone := a.gaveAway(rec, told.ID)
			if 0 < told.Lasted && told.Lasted < a.s.Hold {
				a.find.Fault(checkReservations, "reservation %s of %s ended %v after it was asked for; a hold lasts %v", told.ID, rec.Member, told.Lasted, a.s.Hold)
			}
			switch {
			case !ok:
				a.find.Fault(checkReservations, "reservation %s of %s is gone", told.ID, rec.Member)
			case rec.End == crowd.EndTransferred && a.owners[told.ID] != rec.Friend.Member:
				a.find.Fault(checkReservations, "reservation %s was transferred to %s and belongs to %s", told.ID, rec.Friend.Member, a.owners[told.ID])
			case is.EventID != told.EventID || !sameSeats(is.SeatIDs, told.SeatIDs):
				a.find.Fault(checkReservations, "reservation %s was %s %v and is %s %v", told.ID, told.EventID, told.SeatIDs, is.EventID, is.SeatIDs)
			case told.Status == crowd.Cancelled && is.Status != crowd.Cancelled,
				told.Status == crowd.Confirmed && is.Status != crowd.Confirmed && !gone:
				a.find.Fault(checkReservations, "reservation %s was told to be %s and is %s", told.ID, told.Status, is.Status)
			}
		}
	}
	if holds == 0 && without > 0 && !a.s.Foreign {
		a.find.Fault(checkReservations, "%d fans came for seats, and none got any", without)
	}
}

// gaveAway reports whether the fan itself refunded or transferred a ticket.
func (a *audit) gaveAway(rec *crowd.Record, reservation string) bool {
	return slices.ContainsFunc(rec.Payments, func(p *crowd.Payment) bool {
		return p.Subject == reservation && p.GaveBack
	})
}

func sameSeats(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
