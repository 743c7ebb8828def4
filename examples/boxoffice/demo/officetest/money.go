package officetest

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/gateway"
)

type payment struct {
	crowd.PaymentAnswer
	key, card, member, kind, to string
	accepted                    bool // a transfer, by its receiver
}

// till takes payments.
type till struct {
	*trouble
	sale      *sale
	community *community
	ledger    *ledger
	payments  map[string]*payment // by id
	keys      map[string]*payment
}

func (t *till) pay(r *http.Request) (int, any) {
	var in struct {
		ReservationID, Card, ToMemberID string
		Amount                          int64
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	key := r.Header.Get("Idempotency-Key")
	if p := t.keys[key]; p != nil && !t.strikes(SecondPayment) {
		return 202, p.PaymentAnswer
	}
	kind := map[string]string{"/api/payments": "reservation", "/api/transfers": "transfer", "/api/memberships": "membership"}[r.URL.Path]
	if kind == "reservation" && t.sale.reservations[in.ReservationID].Status != crowd.Held {
		return problem(409, "the hold has ended")
	}
	p := &payment{key: key, card: in.Card, member: member(r), kind: kind, to: in.ToMemberID, PaymentAnswer: crowd.PaymentAnswer{
		PaymentID: "p-" + rand.Text(), ReservationID: in.ReservationID, Status: crowd.Processing, Amount: in.Amount}}
	t.payments[p.PaymentID] = p
	if kind == "reservation" {
		t.sale.reservations[in.ReservationID].paying = true
		if t.fault == LetGo { // the hold ends right now
			t.sale.end(in.ReservationID, crowd.Held)
		}
	}
	if t.keys[key] == nil {
		t.keys[key] = p
	} else {
		p.key += "-second"
	}
	if p.kind == "transfer" { // until its receiver agrees
		p.TransferID = p.PaymentID
		return 202, p.PaymentAnswer
	}
	t.jobs.Go(func() { t.charge(p) })
	return 202, p.PaymentAnswer
}

// accept is the receiver's consent to a transfer.
func (t *till) accept(r *http.Request) (int, any) {
	p := t.payments[r.PathValue("id")]
	if p == nil || p.kind != "transfer" || p.to != member(r) {
		return problem(404, "no such transfer")
	}
	if !p.accepted {
		p.accepted = true
		t.jobs.Go(func() { t.charge(p) })
	}
	return 200, map[string]string{"transferId": p.TransferID}
}

// charge asks the gateway until the outcome is known, and applies it.
func (t *till) charge(p *payment) {
	c, amount := gateway.Charge{Status: gateway.Approved}, p.Amount
	if t.strikes(Overcharge) {
		amount++
	}
	if t.fault != FreeTicket {
		for c = t.ledger.charge(p.key, p.card, p.PaymentID, amount); c.Status == gateway.Pending; {
			time.Sleep(10 * time.Millisecond) // as a real one would wait for the gateway
			c = t.ledger.charge(p.key, p.card, p.PaymentID, amount)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.Status == gateway.Declined {
		p.Status = crowd.Failed
		t.sale.end(p.ReservationID, crowd.Held)
		return
	}
	p.Status = crowd.Success
	if t.strikes(StrayCharge) {
		t.ledger.charge("stray", p.card, "stray", p.Amount)
	}
	if p.card == crowd.CardApproved && t.strikes(DoubleCharge) { // one that is decided at once
		t.ledger.charge(p.key+"-again", p.card, p.PaymentID, p.Amount)
	}
	res := t.sale.reservations[p.ReservationID]
	switch {
	case p.kind == "membership":
	case p.kind == "transfer":
		res.member = p.to
	case res.Status == crowd.Held:
		res.Status = crowd.Confirmed
		t.sale.mark(res.ReservationID, "SOLD")
		t.community.booked(res)
		if t.fault == TakeBack { // of any fan: it may have meant to give it back
			t.later(200*time.Millisecond, func() { t.sale.end(res.ReservationID, crowd.Confirmed) })
		}
	default: // too late
		t.jobs.Go(func() { t.giveBack(p) })
	}
}

func (t *till) giveBack(p *payment) {
	t.ledger.refund(p.key)
	t.mu.Lock()
	defer t.mu.Unlock()
	p.Status = crowd.Refunded
	if res := t.sale.reservations[p.ReservationID]; res != nil {
		t.sale.end(p.ReservationID, crowd.Confirmed)
	}
}

// memberships are active as soon as they are paid.
func (t *till) memberships(r *http.Request) (int, any) {
	list := []map[string]string{}
	for _, p := range t.payments {
		if p.member == member(r) && p.kind == "membership" && p.Status == crowd.Success && t.fault != LoseMembership {
			list = append(list, map[string]string{"status": crowd.Active})
		}
	}
	return 200, map[string]any{"memberships": list}
}

func (t *till) payment(r *http.Request) (int, any) {
	p := t.payments[r.PathValue("id")]
	if p == nil || p.member != member(r) {
		return problem(404, "no such payment")
	}
	if t.fault == LosePayment && p.Status == crowd.Success {
		answer := p.PaymentAnswer
		t.later(100*time.Millisecond, func() { delete(t.payments, p.PaymentID) })
		return 200, answer
	}
	return 200, p.PaymentAnswer
}

func (t *till) refund(r *http.Request) (int, any) {
	p := t.payments[r.PathValue("id")]
	if p == nil || p.member != member(r) {
		return problem(404, "no such payment")
	}
	if p.Status == crowd.Success {
		t.jobs.Go(func() { t.giveBack(p) })
	}
	return 202, p.PaymentAnswer
}
