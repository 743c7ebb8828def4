package browsertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// The fake's bookings. Unlike the real saga they take one step per look: a payment is
// PROCESSING for one answer and settled in the next, so the pages are seen in every
// state without any waiting.

func (f *fake) check(r *http.Request, member string) (int, any) {
	id := r.PathValue("id")
	if f.waiting > 0 {
		ahead := f.waiting - 1
		if !f.still {
			f.waiting--
		}
		return 200, map[string]any{"status": "queued", "queued": true, "position": ahead + 1, "peopleAhead": ahead, "peopleBehind": 87, "estimatedWait": ahead / 2, "nextPoll": 1, "queueSize": ahead + 88}
	}
	return 200, f.inside(id, member)
}

func (f *fake) inside(id, member string) map[string]any {
	return map[string]any{"status": "active", "entryToken": "entry:" + id + ":" + member, "nextPoll": 1, "expiresIn": 600}
}

func (f *fake) heartbeat(r *http.Request, member string) (int, any) {
	if f.over {
		return 200, map[string]any{"status": "none", "nextPoll": 1}
	}
	inside := f.inside(r.PathValue("id"), member)
	if f.endless {
		inside["expiresIn"] = 0
	}
	return 200, inside
}

func (f *fake) plan(r *http.Request, member string) (int, any) {
	id := r.PathValue("id")
	if r.Header.Get("x-queue-entry-token") != "entry:"+id+":"+member {
		return 403, fault{"Queue entry token required", ""}
	}
	return 200, map[string]any{"seats": f.seats[id]}
}

func (f *fake) reserve(r *http.Request, member string) (int, any) {
	if f.stale > 0 {
		f.stale--
		return 403, fault{"Queue entry token invalid", ""}
	}
	var in struct {
		EventID string
		SeatIDs []string
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil {
		return 400, fault{"Unreadable", ""}
	}
	var take []*fakeSeat
	amount := int64(0)
	for _, seat := range f.seats[in.EventID] {
		if !slices.Contains(in.SeatIDs, seat.ID) {
			continue
		}
		if seat.Status != "AVAILABLE" {
			return 409, fault{"Seat taken", seat.ID + " belongs to somebody else."}
		}
		take, amount = append(take, seat), amount+seat.Price
	}
	if held, bought := f.has(member, in.EventID); held+bought+len(take) > fakeLimit {
		return 409, map[string]any{
			"type": "/problems/seat-limit", "title": "More seats than a member may have", "status": 409,
			"limit": "held", "max": fakeLimit, "held": held, "bought": bought, "remaining": fakeLimit - held - bought,
		}
	}
	res := f.book(member, in.EventID, take)
	return 201, map[string]any{"reservationId": res.ID, "status": res.Status, "amount": amount, "holdExpiresAt": res.HoldExpiresAt}
}

// fakeLimit is how many seats of a show one may hold and buy.
const fakeLimit = 6

// has counts the seats of a show that a member holds and bought.
func (f *fake) has(member, event string) (held, bought int) {
	for _, res := range f.reservations {
		switch {
		case res.member != member || res.EventID != event:
		case res.Status == "PENDING":
			held += len(res.SeatIDs)
		case res.Status == "CONFIRMED":
			bought += len(res.SeatIDs)
		}
	}
	return held, bought
}

func (f *fake) allowance(r *http.Request, member string) (int, any) {
	event := r.PathValue("id")
	held, bought := f.has(member, event)
	return 200, map[string]any{
		"eventId": event, "limits": map[string]int{"held": fakeLimit, "bought": fakeLimit},
		"held": held, "bought": bought, "remaining": max(0, fakeLimit-held-bought),
	}
}

func (f *fake) book(member, event string, take []*fakeSeat) *fakeReservation {
	res := &fakeReservation{
		ID: fmt.Sprintf("0199a7c2-7f00-7abc-8def-%012d", len(f.order)+1), EventID: event, Status: "PENDING", HoldExpiresAt: time.Now().Add(f.hold), member: member,
	}
	for _, seat := range take {
		seat.Status, seat.owner = "HOLD", res.ID
		res.SeatIDs = append(res.SeatIDs, seat.ID)
		res.Amount += seat.Price
	}
	f.reservations[res.ID] = res
	f.order = append([]string{res.ID}, f.order...)
	return res
}

func (f *fake) move(res *fakeReservation, status, reason, seats string) {
	res.Status, res.Reason = status, reason
	for _, seat := range f.seats[res.EventID] {
		if seat.owner == res.ID {
			if seat.Status = seats; seats == "AVAILABLE" {
				seat.owner = ""
			}
		}
	}
}

func (f *fake) look(res *fakeReservation) fakeReservation {
	if res.Status == "PENDING" && res.PaymentID == "" && time.Now().After(res.HoldExpiresAt) {
		f.move(res, "CANCELLED", "HOLD_TIMEOUT", "AVAILABLE")
	}
	if p := f.payments[res.PaymentID]; p != nil {
		res.PaymentStatus = p.Status
		if res.Status == "PENDING" && p.Status == "SUCCESS" {
			defer f.move(res, "CONFIRMED", "", "SOLD")
		}
		if res.Status == "PENDING" && p.Status == "FAILED" {
			defer f.move(res, "CANCELLED", "PAYMENT_FAILED", "AVAILABLE")
		}
	}
	return *res
}

func (f *fake) reservation(r *http.Request, member string) (int, any) {
	res := f.reservations[r.PathValue("id")]
	if res == nil || res.member != member {
		return 404, fault{"No such reservation", ""}
	}
	return 200, f.look(res)
}

func (f *fake) tickets(_ *http.Request, member string) (int, any) {
	mine := []fakeReservation{}
	for _, id := range f.order {
		if res := f.reservations[id]; res.member == member {
			mine = append(mine, f.look(res))
		}
	}
	return 200, map[string]any{"tickets": mine}
}

func (f *fake) cancel(r *http.Request, member string) (int, any) {
	f.cancels++
	res := f.reservations[r.PathValue("id")]
	if res == nil || res.member != member {
		return 404, fault{"No such reservation", ""}
	}
	switch res.Status {
	case "PENDING":
		f.move(res, "CANCELLED", "USER_REQUEST", "AVAILABLE")
	case "CONFIRMED":
		f.payments[res.PaymentID].Status = "REFUNDED"
		f.move(res, "CANCELLED", "REFUNDED", "AVAILABLE")
	}
	return 204, nil
}

func (f *fake) pay(r *http.Request, member string) (int, any) {
	var in struct {
		ReservationID, Card string
		Amount              int64
	}
	key := r.Header.Get("Idempotency-Key")
	if json.NewDecoder(r.Body).Decode(&in) != nil || key == "" {
		return 400, fault{"Unreadable", "Idempotency-Key and a body are needed."}
	}
	f.keysSeen = append(f.keysSeen, key)
	if id, ok := f.keys[key]; ok {
		return 202, f.payments[id]
	}
	res := f.reservations[in.ReservationID]
	if res == nil || res.member != member || res.Status != "PENDING" || res.PaymentID != "" {
		return 409, fault{"Nothing to pay", "The reservation has ended or has its payment."}
	}
	if in.Amount != res.Amount {
		return 422, fault{"Wrong amount", fmt.Sprintf("The seats cost %d won.", res.Amount)}
	}
	p := &fakePayment{ID: fmt.Sprint("payment-", len(f.payments)+1), Status: "PROCESSING", card: in.Card, reservation: res.ID}
	f.payments[p.ID], f.keys[key], res.PaymentID = p, p.ID, p.ID
	return 202, *p
}

func (f *fake) payment(r *http.Request, _ string) (int, any) {
	p := f.payments[r.PathValue("id")]
	if p == nil {
		return 404, fault{"No such payment", ""}
	}
	seen := *p
	if p.Status == "PROCESSING" {
		switch p.card {
		case "4242424242424242":
			p.Status = "SUCCESS"
		case "4000000000000002":
			p.Status, p.Reason = "FAILED", "card_declined"
		}
	}
	return 200, seen
}

// settle makes the bank answer for every open payment.
func (f *fake) settle(status string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.payments {
		if p.Status == "PROCESSING" {
			p.Status = status
		}
	}
}
