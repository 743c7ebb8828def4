package officetest

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/audit"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/gateway"
)

func (o *Office) pay(r *http.Request) (int, any) {
	var in struct {
		ReservationID, Card, ToMemberID string
		Amount                          int64
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	o.mu.Lock()
	defer o.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	if p := o.keys[key]; p != nil && !o.strikes(SecondPayment) {
		return 202, p.PaymentAnswer
	}
	kind := map[string]string{"/api/payments": "reservation", "/api/transfers": "transfer", "/api/memberships": "membership"}[r.URL.Path]
	if kind == "reservation" && o.reservations[in.ReservationID].Status != crowd.Held {
		return problem(409, "the hold has ended")
	}
	p := &payment{key: key, card: in.Card, member: member(r), kind: kind, to: in.ToMemberID, PaymentAnswer: crowd.PaymentAnswer{
		PaymentID: "p-" + rand.Text(), ReservationID: in.ReservationID, Status: crowd.Processing, Amount: in.Amount}}
	o.payments[p.PaymentID] = p
	if kind == "reservation" {
		o.reservations[in.ReservationID].paying = true
		if o.fault == LetGo { // the hold ends right now
			o.end(in.ReservationID, crowd.Held)
		}
	}
	if o.keys[key] == nil {
		o.keys[key] = p
	} else {
		p.key += "-second"
	}
	if p.kind == "transfer" { // until its receiver agrees
		p.TransferID = p.PaymentID
		return 202, p.PaymentAnswer
	}
	o.jobs.Go(func() { o.charge(p) })
	return 202, p.PaymentAnswer
}

// accept is the receiver's consent to a transfer.
func (o *Office) accept(r *http.Request) (int, any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.payments[r.PathValue("id")]
	if p == nil || p.kind != "transfer" || p.to != member(r) {
		return problem(404, "no such transfer")
	}
	if !p.accepted {
		p.accepted = true
		o.jobs.Go(func() { o.charge(p) })
	}
	return 200, map[string]string{"transferId": p.TransferID}
}

// charge asks the gateway until the outcome is known, and applies it.
func (o *Office) charge(p *payment) {
	c := gateway.Charge{Status: gateway.Approved}
	if o.fault != FreeTicket {
		for c = o.ledger.charge(p.key, p.card, p.PaymentID, p.Amount); c.Status == gateway.Pending; {
			time.Sleep(10 * time.Millisecond) // as a real one would wait for the gateway
			c = o.ledger.charge(p.key, p.card, p.PaymentID, p.Amount)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if c.Status == gateway.Declined {
		p.Status = crowd.Failed
		o.end(p.ReservationID, crowd.Held)
		return
	}
	p.Status = crowd.Success
	if p.card == crowd.CardApproved && o.strikes(DoubleCharge) { // one that is decided at once
		o.ledger.charge(p.key+"-again", p.card, p.PaymentID, p.Amount)
	}
	res := o.reservations[p.ReservationID]
	switch {
	case p.kind == "membership":
	case p.kind == "transfer":
		res.member = p.to
	case res.Status == crowd.Held:
		res.Status = crowd.Confirmed
		o.mark(res.ReservationID, "SOLD")
		o.booked(res)
		if o.fault == TakeBack { // of any fan: it may have meant to give it back
			o.later(200*time.Millisecond, func() { o.end(res.ReservationID, crowd.Confirmed) })
		}
	default: // too late
		o.jobs.Go(func() { o.giveBack(p) })
	}
}

func (o *Office) giveBack(p *payment) {
	o.ledger.refund(p.key)
	o.mu.Lock()
	defer o.mu.Unlock()
	p.Status = crowd.Refunded
	if res := o.reservations[p.ReservationID]; res != nil {
		o.end(p.ReservationID, crowd.Confirmed)
	}
}

func (o *Office) payment(r *http.Request) (int, any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.payments[r.PathValue("id")]
	if p == nil || p.member != member(r) {
		return problem(404, "no such payment")
	}
	if o.fault == LosePayment && p.Status == crowd.Success {
		answer := p.PaymentAnswer
		o.later(100*time.Millisecond, func() { delete(o.payments, p.PaymentID) })
		return 200, answer
	}
	return 200, p.PaymentAnswer
}

func (o *Office) refund(r *http.Request) (int, any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.payments[r.PathValue("id")]
	if p == nil || p.member != member(r) {
		return problem(404, "no such payment")
	}
	if p.Status == crowd.Success {
		o.jobs.Go(func() { o.giveBack(p) })
	}
	return 202, p.PaymentAnswer
}

func (o *Office) invariants(r *http.Request) (int, any) {
	if r.Header.Get("Authorization") != "Bearer "+Admin {
		return problem(401, "an admin token is needed")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	inv := audit.Invariants{OK: true, Quiescent: o.fault != NeverRests, Checks: []judge.Check{
		{Name: "sold seats = seats of confirmed reservations", OK: true}, {Name: "no event lost", OK: true}}}
	for _, p := range o.payments {
		if p.Status == crowd.Processing {
			inv.Quiescent = false
		}
	}
	for _, res := range o.reservations {
		if res.Status == crowd.Held && o.fault != StuckHold {
			inv.Quiescent = false
		}
	}
	switch o.fault {
	case BrokenInvariant:
		inv.OK, inv.Checks[1] = false, judge.Check{Name: "no event lost", Detail: "3 events are missing"}
	case SilentlyBroken:
		inv.OK = false
	case NoInvariants:
		inv.Checks = nil
	case Silent:
		return problem(500, "the database is away")
	}
	return 200, inv
}

func (o *Office) ops(r *http.Request) (int, any) {
	if r.Header.Get("Authorization") != "Bearer "+Admin {
		return problem(401, "an admin token is needed")
	}
	dead := 0
	if o.fault == DeadLetter {
		dead = 2
	}
	return 200, map[string]any{
		"outbox": map[string]any{"backlog": 0, "published": 7},
		"deadLetters": []map[string]any{
			{"topic": "dlq.payment", "count": dead},
			{"topic": "update-dlq", "count": 3, "apart": true}, // of no concern to the books
		},
	}
}
