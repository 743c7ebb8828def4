package booking_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
)

// refused asks for seats of show-1 and wants a limit's answer.
func refused(t *testing.T, b *boxtest.Box, member string, seats ...string) booking.LimitError {
	t.Helper()
	_, err := b.Booking.Reserve(t.Context(), member, "show-1", seats)
	var limit *booking.LimitError
	require.Truef(t, errors.As(err, &limit), "%v, want a limit", err)
	for _, seat := range seats {
		if got := b.Seat(t, "show-1", seat); got != "AVAILABLE" {
			t.Errorf("the refused seat %s is %s", seat, got)
		}
	}
	return *limit
}

func row(letter string, from, to int) (seats []string) {
	for n := from; n <= to; n++ {
		seats = append(seats, fmt.Sprint(letter, "-", n))
	}
	return seats
}

func TestHeldLimit(t *testing.T) {
	b := boxtest.New(t)
	first := b.Reserve(t, "ann", row("A", 1, 4)...)
	got := refused(t, b, "ann", row("B", 1, 3)...)
	want := booking.LimitError{Allowance: booking.Allowance{MaxHeld: 6, MaxBought: 6, Held: 4}, Asked: 3, Limit: booking.LimitHeld, Max: 6}
	if got != want || got.Remaining() != 2 {
		t.Errorf("%+v", got)
	}
	b.Reserve(t, "ann", row("B", 1, 2)...)
	if got := refused(t, b, "ann", "C-1"); got.Remaining() != 0 || got.Held != 6 {
		t.Errorf("%+v", got)
	}
	// The limit is per member and show.
	b.Reserve(t, "bob", row("D", 1, 6)...)
	_, err := b.Booking.Reserve(t.Context(), "ann", "show-2", row("A", 1, 6))
	assert.NoError(t, err)
	// A hold that ends gives its seats back.
	_, err = b.Booking.Cancel(t.Context(), "ann", first.ID)
	require.NoError(t, err)
	if a, err := b.Booking.Allowance(t.Context(), "ann", "show-1"); err != nil || a.Held != 2 || a.Remaining() != 4 {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := b.Booking.Allowance(t.Context(), "ann", "show-9"); !errors.Is(err, catalog.ErrNoShow) {
		t.Error(err)
	}
}

func TestBoughtLimit(t *testing.T) {
	b := boxtest.New(t)
	mine := b.Reserve(t, "ann", row("A", 1, 5)...)
	paid := b.Pay(t, mine, boxtest.Approve)
	b.Deliver(t, b.Paid(t, paid))
	got := refused(t, b, "ann", "B-1", "B-2")
	want := booking.LimitError{Allowance: booking.Allowance{MaxHeld: 6, MaxBought: 6, Bought: 5}, Asked: 2, Limit: booking.LimitBought, Max: 6}
	if got != want || got.Remaining() != 1 {
		t.Errorf("%+v", got)
	}
	held := b.Reserve(t, "ann", "B-1")
	refused(t, b, "ann", "B-2") // it may be bought too
	// A transferred ticket still counts as bought, and its receiver bought nothing.
	_, err := b.Booking.Cancel(t.Context(), "ann", held.ID)
	require.NoError(t, err)
	handed, err := b.Payments.Start(t.Context(), payment.Request{
		Key: "hand", Member: "ann", Type: events.ForTransfer, ReservationID: mine.ID, ToMember: "bob", Amount: mine.Amount, Card: boxtest.Approve,
	})
	require.NoError(t, err)
	_, err = b.Payments.Accept(t.Context(), "bob", handed.ReferenceID)
	require.NoError(t, err)
	b.Deliver(t, b.Paid(t, handed))
	if owner := b.Query(t, `SELECT member_id FROM reservations WHERE reservation_id = $1`, mine.ID); owner != "bob" {
		t.Fatalf("the ticket is %s's", owner)
	}
	if got := refused(t, b, "ann", "B-1", "B-2"); got.Bought != 5 {
		t.Errorf("%+v", got)
	}
	b.Reserve(t, "bob", row("C", 1, 6)...)
}

func TestRefundGivesTheAllowanceBack(t *testing.T) {
	b := boxtest.New(t)
	mine := b.Reserve(t, "ann", row("A", 1, 6)...)
	paid := b.Pay(t, mine, boxtest.Approve)
	b.Deliver(t, b.Paid(t, paid))
	_, err := b.Booking.Cancel(t.Context(), "ann", mine.ID)
	require.NoError(t, err)
	refused(t, b, "ann", "B-1") // until the money is back
	b.Deliver(t, b.PaidBack(t, paid))
	b.Reserve(t, "ann", row("B", 1, 6)...)
}

// The limits are the show's.
func TestLimitsOfAShow(t *testing.T) {
	b := boxtest.New(t)
	b.Exec(t, `UPDATE shows SET max_held = 2, max_bought = 3 WHERE show_id = 'show-1'`)
	first := b.Reserve(t, "ann", "A-1", "A-2")
	if got := refused(t, b, "ann", "A-3"); got.Limit != booking.LimitHeld || got.Max != 2 {
		t.Errorf("%+v", got)
	}
	b.Deliver(t, b.Paid(t, b.Pay(t, first, boxtest.Approve)))
	if got := refused(t, b, "ann", "A-3", "A-4"); got.Limit != booking.LimitBought || got.Max != 3 || got.Remaining() != 1 {
		t.Errorf("%+v", got)
	}
	b.Reserve(t, "ann", "A-3")
}

// A fan sends twenty holds at once, half of them to another process, and some are for
// more than one seat.
func TestTwentyHoldsAtOnce(t *testing.T) {
	b := boxtest.New(t)
	other := boxtest.Open(t, b.URL)
	for round := range 5 {
		member := fmt.Sprint("greedy-", round)
		var mu sync.Mutex
		var all sync.WaitGroup
		held, full := 0, 0
		for i := range 20 {
			at := []*boxtest.Box{b, other}[i%2]
			seats := row(string(rune('A'+i)), 5*round+1, 5*round+1+i%3)
			all.Go(func() {
				r, err := at.Booking.Reserve(context.Background(), member, "show-1", seats)
				var limit *booking.LimitError
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					held += len(r.SeatIDs)
				case errors.As(err, &limit):
					full++
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		rows := b.Query(t, `SELECT COUNT(*) FROM seats s JOIN reservations r ON r.reservation_id = s.reservation_id WHERE r.member_id = $1`, member)
		if held > 6 || held < 4 || full < 14 || rows != fmt.Sprint(held) {
			t.Errorf("%d seats by the answers and %s by the rows, %d refused", held, rows, full)
		}
	}
}
