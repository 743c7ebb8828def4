package api

import (
	"context"
	"net/http"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
)

// seenBy leaves out what only the sender of a transfer may see.
func seenBy(member string, t payment.Transfer) payment.Transfer {
	if t.From != member {
		t.PaymentID = ""
	}
	return t
}

func (p paymentRoutes) transfers(w http.ResponseWriter, r *http.Request, member string) error {
	list, err := p.payments.Transfers(r.Context(), member)
	out := each(list, func(t payment.Transfer) payment.Transfer { return seenBy(member, t) })
	return reply(w, http.StatusOK, map[string]any{"transfers": out}, err)
}

// decide answers a decision about a transfer with the transfer's new state.
func decide(move func(ctx context.Context, member, id string) (payment.Transfer, error)) memberHandler {
	return func(w http.ResponseWriter, r *http.Request, member string) error {
		t, err := move(r.Context(), member, r.PathValue("id"))
		return reply(w, http.StatusOK, seenBy(member, t), err)
	}
}

// memberships are the member's, with the price of a new one.
func (p paymentRoutes) memberships(w http.ResponseWriter, r *http.Request, member string) error {
	list, err := p.payments.Memberships(r.Context(), member)
	return reply(w, http.StatusOK, map[string]any{"price": payment.MembershipPrice, "memberships": list}, err)
}
