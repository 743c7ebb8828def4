package audit

import (
	"context"
	"fmt"
	"net/http"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/gateway"
)

// readLedger reads the gateway's whole ledger, page by page.
func readLedger(ctx context.Context, c *crowd.Client) (sum gateway.Totals, charges []gateway.Charge, err error) {
	if _, err = c.Do(ctx, crowd.Call{Method: http.MethodGet, Path: "/ledger"}, &sum); err != nil {
		return sum, nil, err
	}
	for after := int64(0); ; {
		var page gateway.Page
		if _, err = c.Do(ctx, crowd.Call{Method: http.MethodGet, Path: fmt.Sprintf("/ledger/charges?limit=1000&after=%d", after)}, &page); err != nil {
			return sum, nil, err
		}
		charges = append(charges, page.Charges...)
		if after = page.Next; after == 0 {
			return sum, charges, nil
		}
	}
}

// ledgerCharge judges one charge against the payment it was made for.
func ledgerCharge(c gateway.Charge, p payment) string {
	switch {
	case c.Amount != p.Amount:
		return fmt.Sprintf("charge %s took %d for payment %s of %d", c.Key, c.Amount, p.ID, p.Amount)
	case c.Status == gateway.Pending:
		return fmt.Sprintf("charge %s is still pending", c.Key)
	case c.Status == gateway.Declined && p.Status != crowd.Failed:
		return fmt.Sprintf("charge %s was declined and payment %s is %s", c.Key, p.ID, p.Status)
	case c.Status == gateway.Approved && !c.Refunded && p.Status != crowd.Success:
		return fmt.Sprintf("charge %s took the money and payment %s is %s", c.Key, p.ID, p.Status)
	case c.Refunded && p.Status != crowd.Refunded:
		return fmt.Sprintf("charge %s gave the money back and payment %s is %s", c.Key, p.ID, p.Status)
	}
	return ""
}

// judgeLedger compares the gateway's ledger with the fans' payments.
func (a *audit) judgeLedger(ctx context.Context) {
	if a.s.GatewayURL == "" {
		return
	}
	client := &crowd.Client{URL: a.s.GatewayURL, HTTP: a.s.Office.Client.HTTP, Patience: a.s.Office.Client.Patience}
	sum, charges, err := readLedger(ctx, client)
	a.find.Announce(checkLedger, "%d charges: %d approved, of them %d refunded, %d declined", sum.Charges, sum.Approved, sum.Refunded, sum.Declined)
	a.find.Announce(checkKeys, "%d charges, no key and no reference twice", sum.Charges)
	if err != nil {
		a.find.Fault(checkLedger, "%v", err)
		return
	}
	if sum.DuplicateKeys > 0 || sum.DuplicateReferences > 0 {
		a.find.Fault(checkKeys, "%d keys charged twice, %d references paid twice", sum.DuplicateKeys, sum.DuplicateReferences)
	}
	// The office may use the fan's payment key or its own payment id.
	known := map[string]payment{}
	for _, p := range a.payments {
		known[p.Key], known[p.ID] = p, p
	}
	charged := map[string]bool{}
	for _, c := range charges {
		p, ok := known[c.Key]
		if !ok {
			if !a.s.Foreign {
				a.find.Fault(checkLedger, "charge %s (%s, %d) belongs to no fan's payment", c.Key, c.Status, c.Amount)
			}
			continue
		}
		charged[p.ID] = true
		a.find.Fault(checkLedger, "%s", ledgerCharge(c, p))
	}
	for _, p := range a.payments {
		if !charged[p.ID] && (p.Status == crowd.Success || p.Status == crowd.Refunded) {
			a.find.Fault(checkLedger, "payment %s is %s and was never charged", p.ID, p.Status)
		}
	}
}
