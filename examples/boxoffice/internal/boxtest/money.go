package boxtest

import (
	"testing"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
)

// Pay accepts a payment for a reservation.
func (b *Box) Pay(t testing.TB, r booking.Reservation, card string) payment.Payment {
	t.Helper()
	p, err := b.Payments.Start(t.Context(), payment.Request{
		Key: "key-" + r.ID, Member: r.MemberID, Type: events.ForReservation, ReservationID: r.ID, Amount: r.Amount, Card: card,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Paid settles a payment as approved, as the executor does, and returns its event.
func (b *Box) Paid(t testing.TB, p payment.Payment) event.Event {
	t.Helper()
	b.Exec(t, `UPDATE payments SET status = 'SUCCESS', gateway_id = 'g', settled_at = 1 WHERE payment_id = $1 AND status = 'PROCESSING'`, p.ID)
	return b.event(t, events.PaymentSuccess, p, events.Paid{
		PaymentID: p.ID, PaymentKey: p.Key, ReservationID: p.ReservationID, Amount: p.Amount, PaidAt: time.Now().UTC(),
		PortoneTransactionID: "g", PaymentType: p.Type, SagaID: p.ReferenceID,
	})
}

// NotPaid settles a payment as declined and returns its event.
func (b *Box) NotPaid(t testing.TB, p payment.Payment) event.Event {
	t.Helper()
	b.Exec(t, `UPDATE payments SET status = 'FAILED', failure_reason = 'card_declined', settled_at = 1 WHERE payment_id = $1 AND status = 'PROCESSING'`, p.ID)
	return b.event(t, events.PaymentFailed, p, events.NotPaid{
		PaymentID: p.ID, PaymentKey: p.Key, ReservationID: p.ReservationID, Amount: p.Amount, FailureReason: "card_declined",
		FailedAt: time.Now().UTC(), PaymentType: p.Type, SagaID: p.ReferenceID,
	})
}

// PaidBack carries out a requested refund and returns its event.
func (b *Box) PaidBack(t testing.TB, p payment.Payment) event.Event {
	t.Helper()
	b.Exec(t, `UPDATE payments SET status = 'REFUNDED', refund_state = 'DONE', refunded_at = 1 WHERE payment_id = $1 AND refund_state = 'REQUESTED'`, p.ID)
	return b.event(t, events.PaymentRefunded, p, events.PaidBack{
		PaymentID: p.ID, PaymentKey: p.Key, ReservationID: p.ReservationID, Amount: p.Amount,
		Reason:     b.Query(t, `SELECT refund_reason FROM payments WHERE payment_id = $1`, p.ID),
		RefundedAt: time.Now().UTC(), PortoneTransactionID: "g", PaymentType: p.Type, SagaID: p.ReferenceID,
	})
}

func (b *Box) event(t testing.TB, typ string, p payment.Payment, data any) event.Event {
	t.Helper()
	e, err := events.New(typ, "payment", p.ID, p.MemberID, true, data)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Refund returns a payment's refund, such as "REQUESTED LATE".
func (b *Box) Refund(t testing.TB, p payment.Payment) string {
	t.Helper()
	return b.Query(t, `SELECT refund_state || CASE WHEN refund_reason IS NULL THEN '' ELSE ' ' || refund_reason END FROM payments WHERE payment_id = $1`, p.ID)
}
