package audit

import (
	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

// payment is the box office's last answer about a fan's payment.
type payment struct {
	crowd.Payment
	member string
}

// judgePayments compares payments with the reservations they paid for: a
// confirmed reservation has exactly one successful payment, and a successful
// payment a confirmed reservation.
func (a *audit) judgePayments() {
	paid := map[string]int{} // successful payments by reservation
	count := map[string]int{}
	for _, p := range a.payments {
		count[p.Status]++
		if p.Type == "reservation" && p.Status == crowd.Success {
			paid[p.Subject]++
			if t, mine := a.tickets[p.Subject]; mine && t.Status != crowd.Confirmed {
				a.find.Fault(checkPaid, "payment %s is SUCCESS and reservation %s is %s", p.ID, p.Subject, t.Status)
			}
		}
		if p.Status == crowd.Processing {
			a.find.Fault(checkOpen, "payment %s of %s is PROCESSING", p.ID, p.member)
		}
	}
	confirmed := 0
	for id, t := range a.tickets {
		switch t.Status {
		case crowd.Confirmed:
			confirmed++
			if paid[id] != 1 {
				a.find.Fault(checkPaid, "reservation %s of %s is CONFIRMED and was paid %d times", id, a.owners[id], paid[id])
			}
		case crowd.Held:
			a.find.Fault(checkOpen, "reservation %s of %s is PENDING", id, a.owners[id])
		}
	}
	a.find.Announce(checkPaid, "%d confirmed; payments: %d success, %d refunded, %d failed",
		confirmed, count[crowd.Success], count[crowd.Refunded], count[crowd.Failed])
	a.find.Announce(checkOpen, "no reservation PENDING, no payment PROCESSING")
}
