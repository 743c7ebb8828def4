package ops

import (
	"context"
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
)

// ledger compares every payment with the gateway's charge of its key, and every
// charge with the payment.
func (b *Books) ledger(ctx context.Context, payments map[string]paid) (Check, error) {
	const name = "gateway-ledger"
	totals, err := b.gateway.Ledger(ctx)
	if err != nil {
		return Check{Name: name, Detail: "the gateway was not reached: " + err.Error()}, ctx.Err()
	}
	var breaches []string
	add := func(format string, args ...any) { breaches = append(breaches, fmt.Sprintf(format, args...)) }
	if totals.DuplicateKeys > 0 {
		add("the ledger has %d keys with more than one charge", totals.DuplicateKeys)
	}
	if totals.DuplicateReferences > 0 {
		add("%d things were charged for more than once", totals.DuplicateReferences)
	}
	seen := make(map[string]bool, len(payments))
	err = b.gateway.Charges(ctx, func(c payment.Charge) {
		p, ok := payments[c.Key]
		switch {
		case !ok:
			add("the gateway has a charge of %d for %s under the key %s, which no payment has", c.Amount, c.Reference, c.Key)
		case seen[c.Key]:
			add("the gateway charged the key %s twice", c.Key)
		default:
			if why := disagree(p, c); why != "" {
				add("payment %s %s", p.id, why)
			}
		}
		seen[c.Key] = true
	})
	if err != nil {
		return Check{Name: name, Detail: "the gateway's ledger was not read: " + err.Error()}, ctx.Err()
	}
	for key, p := range payments {
		if !seen[key] && mustBeCharged(p) {
			add("payment %s is %s and the gateway knows nothing of it", p.id, p.status)
		}
	}
	sound := fmt.Sprintf("%d charges, one for each key: %d approved, %d declined, %d refunded",
		totals.Charges, totals.Approved, totals.Declined, totals.Refunded)
	return check(name, sound, breaches), nil
}

// disagree describes how a payment and its charge differ, or is "".
func disagree(p paid, c payment.Charge) string {
	if p.amount != c.Amount {
		return fmt.Sprintf("is %d, the gateway charged %d", p.amount, c.Amount)
	}
	ok := true
	switch p.status {
	case payment.Success:
		// While the refund is in flight the gateway may be ahead of us.
		ok = c.Status == "APPROVED" && (!c.Refunded || p.refund == "REQUESTED")
	case payment.Refunded:
		ok = c.Status == "APPROVED" && c.Refunded
	case payment.Failed:
		ok = c.Status == "DECLINED"
	case payment.Processing:
		ok = !c.Refunded
	}
	if ok {
		return ""
	}
	return fmt.Sprintf("is %s, the gateway says %s, refunded: %t", p.status, c.Status, c.Refunded)
}

// mustBeCharged reports whether the gateway must have a charge for the payment. A refused
// request leaves no charge, and an offer that was not accepted asks for none.
func mustBeCharged(p paid) bool {
	switch p.status {
	case payment.Success, payment.Refunded:
		return true
	case payment.Failed:
		return p.failure != payment.GatewayRefused && p.failure != payment.KeyConflict && !strings.HasPrefix(p.failure, payment.OfferEnded)
	}
	return false
}
