package api

import (
	"net/http"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
)

type paymentJSON struct {
	PaymentID     string    `json:"paymentId"`
	Status        string    `json:"status"`
	Type          string    `json:"type"`
	ReservationID string    `json:"reservationId,omitempty"`
	TransferID    string    `json:"transferId,omitempty"`
	MembershipID  string    `json:"membershipId,omitempty"`
	Amount        int64     `json:"amount"`
	CardLast4     string    `json:"cardLast4"`
	FailureReason string    `json:"failureReason,omitempty"`
	Refund        string    `json:"refund,omitempty"` // REQUESTED, DONE
	RefundReason  string    `json:"refundReason,omitempty"`
	CreatedAt     time.Time `json:"createdAt"`
}

func presentPayment(p payment.Payment) paymentJSON {
	out := paymentJSON{
		PaymentID: p.ID, Status: p.Status, Type: p.Type, ReservationID: p.ReservationID, Amount: p.Amount,
		CardLast4: p.CardLast4, FailureReason: p.FailureReason, RefundReason: p.RefundReason, CreatedAt: p.CreatedAt,
	}
	switch p.Type {
	case events.ForTransfer:
		out.TransferID = p.ReferenceID
	case events.ForMembership:
		out.MembershipID = p.ReferenceID
	}
	if p.RefundState != "NONE" {
		out.Refund = p.RefundState
	}
	return out
}

// paymentRoutes are the payments, with the transfers and memberships that they pay.
type paymentRoutes struct{ payments *payment.Payments }

func (p paymentRoutes) mount(g *guard) {
	g.writes("POST /api/payments", p.pay)
	g.member("GET /api/payments/{id}", p.payment)
	g.writes("POST /api/payments/{id}/refund", p.refund)
	g.writes("POST /api/transfers", p.transfer)
	g.member("GET /api/me/transfers", p.transfers)
	g.writes("POST /api/transfers/{id}/accept", decide(p.payments.Accept))
	g.writes("POST /api/transfers/{id}/decline", decide(p.payments.Decline))
	g.writes("POST /api/transfers/{id}/withdraw", decide(p.payments.Withdraw))
	g.writes("POST /api/memberships", p.membership)
	g.member("GET /api/me/memberships", p.memberships)
}

func (p paymentRoutes) pay(w http.ResponseWriter, r *http.Request, member string) error {
	var body struct {
		ReservationID string `json:"reservationId"`
		Amount        int64  `json:"amount"`
		Card          string `json:"card"`
	}
	key, err := keyed(w, r, &body)
	if err != nil {
		return err
	}
	if err := required("reservationId", body.ReservationID); err != nil {
		return err
	}
	return p.start(w, r, payment.Request{
		Key: key, Member: member, Type: events.ForReservation,
		ReservationID: body.ReservationID, Amount: body.Amount, Card: body.Card,
	})
}

func (p paymentRoutes) transfer(w http.ResponseWriter, r *http.Request, member string) error {
	var body struct {
		ReservationID string `json:"reservationId"`
		ToMemberID    string `json:"toMemberId"`
		Amount        int64  `json:"amount"`
		Card          string `json:"card"`
	}
	key, err := keyed(w, r, &body)
	if err != nil {
		return err
	}
	if err := required("reservationId", body.ReservationID); err != nil {
		return err
	}
	if err := auth.CheckMember(body.ToMemberID); err != nil {
		return invalid("toMemberId", "%v", err)
	}
	return p.start(w, r, payment.Request{
		Key: key, Member: member, Type: events.ForTransfer,
		ReservationID: body.ReservationID, ToMember: body.ToMemberID, Amount: body.Amount, Card: body.Card,
	})
}

func (p paymentRoutes) membership(w http.ResponseWriter, r *http.Request, member string) error {
	var body struct {
		Amount int64  `json:"amount"`
		Card   string `json:"card"`
	}
	key, err := keyed(w, r, &body)
	if err != nil {
		return err
	}
	return p.start(w, r, payment.Request{
		Key: key, Member: member, Type: events.ForMembership, Amount: body.Amount, Card: body.Card,
	})
}

// keyed reads a payment's key and body.
func keyed(w http.ResponseWriter, r *http.Request, body any) (key string, err error) {
	if key, err = idempotencyKey(r); err != nil {
		return "", err
	}
	return key, decode(w, r, body)
}

func (p paymentRoutes) start(w http.ResponseWriter, r *http.Request, req payment.Request) error {
	if req.Amount <= 0 {
		return invalid("amount", `the field "amount" must be a positive number of won`)
	}
	if req.Card == "" {
		return invalid("card", `the field "card" is missing`)
	}
	found, err := p.payments.Start(r.Context(), req)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/api/payments/"+found.ID)
	answer(w, http.StatusAccepted, presentPayment(found))
	return nil
}

func (p paymentRoutes) payment(w http.ResponseWriter, r *http.Request, member string) error {
	found, err := p.payments.Get(r.Context(), member, r.PathValue("id"))
	return reply(w, http.StatusOK, presentPayment(found), err)
}

func (p paymentRoutes) refund(w http.ResponseWriter, r *http.Request, member string) error {
	found, err := p.payments.Refund(r.Context(), member, r.PathValue("id"))
	return reply(w, http.StatusAccepted, presentPayment(found), err)
}
