package api

import (
	"context"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
)

type transferJSON struct {
	TransferID    string    `json:"transferId"`
	ReservationID string    `json:"reservationId"`
	PaymentID     string    `json:"paymentId,omitempty"` // the sender's
	FromMemberID  string    `json:"fromMemberId"`
	ToMemberID    string    `json:"toMemberId"`
	EventID       string    `json:"eventId,omitempty"`
	SeatIDs       []string  `json:"seatIds,omitempty"`
	Amount        int64     `json:"amount"`
	Status        string    `json:"status"`
	Reason        string    `json:"reason,omitempty"`
	CreatedAt     time.Time `json:"createdAt"`
	ExpiresAt     time.Time `json:"expiresAt"`
	AcceptedAt    time.Time `json:"acceptedAt,omitzero"`
	SettledAt     time.Time `json:"settledAt,omitzero"`
}

func presentTransfer(t payment.Transfer, member string) transferJSON {
	out := transferJSON{
		TransferID: t.ID, ReservationID: t.ReservationID, FromMemberID: t.From, ToMemberID: t.To,
		EventID: t.ShowID, SeatIDs: t.SeatIDs, Amount: t.Amount, Status: t.Status, Reason: t.Reason,
		CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, AcceptedAt: t.AcceptedAt, SettledAt: t.SettledAt,
	}
	if t.From == member {
		out.PaymentID = t.PaymentID
	}
	return out
}

func (p paymentRoutes) transfers(w http.ResponseWriter, r *http.Request, member string) error {
	list, err := p.payments.Transfers(r.Context(), member)
	out := each(list, func(t payment.Transfer) transferJSON { return presentTransfer(t, member) })
	return reply(w, http.StatusOK, map[string]any{"transfers": out}, err)
}

// decide answers a decision about a transfer with the transfer's new state.
func (p paymentRoutes) decide(move func(of *payment.Payments, ctx context.Context, member, id string) (payment.Transfer, error)) memberHandler {
	return func(w http.ResponseWriter, r *http.Request, member string) error {
		t, err := move(p.payments, r.Context(), member, r.PathValue("id"))
		return reply(w, http.StatusOK, presentTransfer(t, member), err)
	}
}

type membershipJSON struct {
	MembershipID  string    `json:"membershipId"`
	PaymentID     string    `json:"paymentId"`
	Amount        int64     `json:"amount"`
	Status        string    `json:"status"`
	FailureReason string    `json:"failureReason,omitempty"`
	CreatedAt     time.Time `json:"createdAt"`
	ActivatedAt   time.Time `json:"activatedAt,omitzero"`
	ExpiresAt     time.Time `json:"expiresAt,omitzero"`
}

// memberships are the member's, with the price of a new one.
func (p paymentRoutes) memberships(w http.ResponseWriter, r *http.Request, member string) error {
	list, err := p.payments.Memberships(r.Context(), member)
	out := each(list, func(m payment.Membership) membershipJSON {
		return membershipJSON{m.ID, m.PaymentID, m.Amount, m.Status, m.FailureReason, m.CreatedAt, m.ActivatedAt, m.ExpiresAt}
	})
	return reply(w, http.StatusOK, map[string]any{"price": payment.MembershipPrice, "memberships": out}, err)
}
