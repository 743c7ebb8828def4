package audit

import (
	"testing"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/gateway"
)

func TestLedgerCharge(t *testing.T) {
	charges := map[string]gateway.Charge{
		"pending": {Status: gateway.Pending}, "declined": {Status: gateway.Declined},
		"approved": {Status: gateway.Approved}, "refunded": {Status: gateway.Approved, Refunded: true},
	}
	fits := map[string]string{"declined": crowd.Failed, "approved": crowd.Success, "refunded": crowd.Refunded}
	for name, c := range charges {
		for _, status := range []string{crowd.Processing, crowd.Success, crowd.Failed, crowd.Refunded} {
			if said := ledgerCharge(c, payment{Payment: crowd.Payment{Status: status}}); (said == "") != (fits[name] == status) {
				t.Errorf("a charge that is %s, and a payment %s: %q", name, status, said)
			}
		}
	}
}
