package booking_test

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// endedAgo moves the end of a hold into the past.
func endedAgo(t *testing.T, b *boxtest.Box, r booking.Reservation, ago time.Duration) {
	t.Helper()
	b.Exec(t, `UPDATE reservations SET hold_expires_at = now_ms() - $2 WHERE reservation_id = $1`, r.ID, ago.Milliseconds())
}

func sweeper(t *testing.T, b *boxtest.Box) func(want int) {
	t.Helper()
	lease, err := b.Store.TakeLease(t.Context(), "sweep", "test", time.Minute)
	require.NoError(t, err)
	return func(want int) {
		t.Helper()
		if n, err := b.Booking.Sweep(t.Context(), lease, 10); n != want || err != nil {
			t.Errorf("swept %d, %v; want %d", n, err, want)
		}
	}
}

// A payment that was accepted in time keeps its seats for two minutes after the hold.
func TestPaymentKeepsSeats(t *testing.T) {
	b := boxtest.New(t)
	sweep := sweeper(t, b)
	r := b.Reserve(t, "ann", "A-1")
	p := b.Pay(t, r, boxtest.Timeout)
	endedAgo(t, b, r, 2*time.Minute-10*time.Second)
	sweep(0)
	assert.Equal(t, "PENDING HOLD", b.Status(t, r.ID)+" "+b.Seat(t, "show-1", "A-1"), "while the payment is under way")
	b.Must(t, events.GroupReservation, b.Paid(t, p), "confirmed")
	assert.Equal(t, "CONFIRMED NONE", b.Status(t, r.ID)+" "+b.Refund(t, p))
}

// After the limit the payment keeps nothing, and its money is refunded.
func TestPaymentLimit(t *testing.T) {
	b := boxtest.New(t)
	sweep := sweeper(t, b)
	r := b.Reserve(t, "ann", "A-1")
	p := b.Pay(t, r, boxtest.Timeout)
	endedAgo(t, b, r, 2*time.Minute)
	sweep(1)
	b.Must(t, events.GroupReservation, b.Paid(t, p), "late")
	assert.Equal(t, "CANCELLED HOLD_TIMEOUT, REQUESTED LATE", b.Status(t, r.ID)+", "+b.Refund(t, p))
}

// A success whose event comes late, as in an outage of the transport, is a success in
// time.
func TestPaidKeepsSeats(t *testing.T) {
	b := boxtest.New(t)
	sweep := sweeper(t, b)
	r := b.Reserve(t, "ann", "A-1")
	paid := b.Paid(t, b.Pay(t, r, boxtest.Approve))
	endedAgo(t, b, r, time.Hour)
	over := b.Reserve(t, "bob", "B-1")
	endedAgo(t, b, over, time.Minute)
	sweep(1) // the one behind it, without a payment
	sweep(0)
	b.Must(t, events.GroupReservation, paid, "confirmed")
}

// A failed payment keeps nothing, though its event is still in flight.
func TestFailedKeepsNothing(t *testing.T) {
	b := boxtest.New(t)
	sweep := sweeper(t, b)
	r := b.Reserve(t, "ann", "A-1")
	failed := b.NotPaid(t, b.Pay(t, r, boxtest.Decline))
	endedAgo(t, b, r, time.Second)
	sweep(1)
	b.Must(t, events.GroupReservation, failed, "already ended")
}

// The sweep found a hold overdue, and a payment was accepted before it had the row.
func TestPaymentBetweenLookAndLock(t *testing.T) {
	b := boxtest.New(t)
	r := b.Reserve(t, "ann", "A-1")
	b.Pay(t, r, boxtest.Timeout)
	endedAgo(t, b, r, time.Second)
	err := b.Store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		n, err := b.Booking.EndFound(ctx, tx, r.ID)
		assert.Equal(t, 0, n, "holds were ended")
		return err
	})
	if err != nil || b.Status(t, r.ID) != booking.Pending {
		t.Errorf("%v, %s", err, b.Status(t, r.ID))
	}
}

// A payment is accepted or its hold is ended, never both, in two processes.
func TestStartAgainstSweep(t *testing.T) {
	b := boxtest.New(t)
	other := boxtest.Open(t, b.URL)
	lease, err := other.Store.TakeLease(t.Context(), "sweep", "test", time.Minute)
	require.NoError(t, err)
	accepted := 0
	for i := range 40 {
		r := b.Reserve(t, "ann", "A-1", "A-2")
		b.Exec(t, `UPDATE reservations SET hold_expires_at = now_ms() + $2 WHERE reservation_id = $1`, r.ID, i)
		var start error
		var race sync.WaitGroup
		race.Go(func() {
			_, start = b.Payments.Start(context.Background(), payment.Request{
				Key: "key-" + r.ID, Member: "ann", Type: events.ForReservation, ReservationID: r.ID, Amount: r.Amount, Card: boxtest.Timeout,
			})
		})
		race.Go(func() {
			for range 10 {
				if _, err := other.Booking.Sweep(context.Background(), lease, 10); err != nil && !errors.Is(err, store.ErrLeaseLost) {
					t.Error(err)
				}
			}
		})
		race.Wait()
		var ended *payment.HoldEndedError
		switch status := b.Status(t, r.ID); {
		case start == nil && status != booking.Pending:
			t.Fatalf("the payment was accepted and the reservation is %s", status)
		case start == nil:
			accepted++
		case !errors.As(start, &ended):
			t.Fatal(start)
		}
		endedAgo(t, b, r, time.Hour)
		_, err := other.Booking.Sweep(t.Context(), lease, 10)
		require.NoError(t, err)
		b.Deliver(t, append(b.Outbox.Take(), other.Outbox.Take()...)...)
	}
	t.Logf("%d of 40 payments were accepted", accepted)
}

// A payment after the end of the hold is refused, and nothing is written.
func TestStartAfterTheEnd(t *testing.T) {
	b := boxtest.New(t)
	r := b.Reserve(t, "ann", "A-1")
	endedAgo(t, b, r, time.Millisecond)
	_, err := b.Payments.Start(t.Context(), payment.Request{
		Key: "k", Member: "ann", Type: events.ForReservation, ReservationID: r.ID, Amount: r.Amount, Card: boxtest.Approve,
	})
	var ended *payment.HoldEndedError
	if !errors.As(err, &ended) || ended.Status != booking.Pending || ended.Error() != "payment: the time to pay for the reservation is over" {
		t.Errorf("%v", err)
	}
	assert.Equal(t, "0", b.Query(t, `SELECT COUNT(*) FROM payments`), "payments")
}
