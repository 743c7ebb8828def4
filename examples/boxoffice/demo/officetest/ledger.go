package officetest

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/gateway"
)

// settleAfter is when a timed-out charge is approved. Fans that pay in the last moment
// have less left of their hold: they are late at an office that frees the seats.
const settleAfter = 600 * time.Millisecond

// ledger is a payment gateway in memory. Its HTTP side answers audits only.
type ledger struct {
	mu      sync.Mutex
	order   []*gateway.Charge
	charges map[string]*gateway.Charge
}

func newLedger() *ledger { return &ledger{charges: map[string]*gateway.Charge{}} }

func (l *ledger) charge(key, card, reference string, amount int64) gateway.Charge {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.charges[key]
	if c == nil {
		c = &gateway.Charge{Key: key, Status: gateway.Approved, Amount: amount, Reference: reference, CreatedAt: time.Now()}
		switch card {
		case crowd.CardDeclined:
			c.Status = gateway.Declined
		case crowd.CardTimeout:
			c.Status = gateway.Pending
		}
		l.charges[key] = c
		l.order = append(l.order, c)
	}
	if c.Status == gateway.Pending && time.Since(c.CreatedAt) > settleAfter {
		c.Status = gateway.Approved
	}
	return *c
}

func (l *ledger) refund(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.charges[key]; c != nil {
		c.Refunded = true
	}
}

// ServeHTTP answers GET /ledger and GET /ledger/charges.
func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum, references := gateway.Totals{}, map[string]int64{}
	page := gateway.Page{}
	for _, c := range l.order {
		page.Charges = append(page.Charges, *c)
		sum.Charges++
		switch c.Status {
		case gateway.Approved:
			sum.Approved++
			if references[c.Reference]++; references[c.Reference] == 2 {
				sum.DuplicateReferences++
			}
		case gateway.Declined:
			sum.Declined++
		case gateway.Pending:
			sum.Pending++
		}
		if c.Refunded {
			sum.Refunded++
		}
	}
	var body any = page
	if r.URL.Path == "/ledger" {
		body = sum
	}
	_ = json.NewEncoder(w).Encode(body)
}
