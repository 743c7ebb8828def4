package catalog_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

func TestMain(m *testing.M) { boxtest.Main(m) }

func TestShowsAndSeats(t *testing.T) {
	b := boxtest.New(t)
	shows, err := b.Catalog.Shows(t.Context())
	if err != nil || len(shows) != 5 || shows[0].ID != "show-1" || shows[4].ID != "show-5" {
		t.Fatalf("shows: %+v, %v", shows, err)
	}
	if c := shows[2].Seats; c.Total != 500 || c.Available != 500 {
		t.Errorf("counts: %+v", c)
	}
	seats, err := b.Catalog.Seats(t.Context(), "show-5")
	if err != nil || len(seats) != 500 || seats[0].ID != "A-1" || seats[499].ID != "T-25" || seats[499].Price <= 0 {
		t.Errorf("seats: %d, %v", len(seats), err)
	}
	for _, id := range []string{"", "show-6", "SHOW-1"} {
		if _, err := b.Catalog.Show(t.Context(), id); !errors.Is(err, catalog.ErrNoShow) {
			t.Errorf("show %q: %v", id, err)
		}
		if _, err := b.Catalog.Seats(t.Context(), id); !errors.Is(err, catalog.ErrNoShow) {
			t.Errorf("seats of %q: %v", id, err)
		}
	}
}

func TestHoldAllOrNone(t *testing.T) {
	b := boxtest.New(t)
	b.Reserve(t, "ann", "A-1", "A-2")

	_, err := b.Booking.Reserve(t.Context(), "bob", "show-1", []string{"A-3", "A-2", "A-1"})
	var taken *catalog.TakenError
	if !errors.As(err, &taken) || !slices.Equal(taken.Seats, []string{"A-1", "A-2"}) {
		t.Errorf("taken: %v", err)
	}
	_, err = b.Booking.Reserve(t.Context(), "bob", "show-1", []string{"A-3", "Z-1", "A-1", "A-99"})
	var unknown *catalog.UnknownSeatsError
	if !errors.As(err, &unknown) || !slices.Equal(unknown.Seats, []string{"Z-1", "A-99"}) {
		t.Errorf("unknown: %v", err)
	}
	assert.Equal(t, "AVAILABLE", b.Seat(t, "show-1", "A-3"), "the free seat of a refused hold")
	assert.Equal(t, "1", b.Query(t, `SELECT COUNT(*) FROM reservations`), "reservations")
	assert.Equal(t, "AVAILABLE", b.Seat(t, "show-2", "A-1"), "the same seat of another show")
	b.Exec(t, `UPDATE shows SET max_held = $1, max_bought = $1 WHERE show_id = 'show-1'`, catalog.MaxSeats)
	var ten []string
	for i := range catalog.MaxSeats {
		ten = append(ten, fmt.Sprintf("B-%d", i+1))
	}
	assert.EqualValues(t, 10*150_000, b.Reserve(t, "cid", ten...).Amount, "ten seats cost")
}

func TestOneHoldWins(t *testing.T) {
	b := boxtest.New(t)
	other := boxtest.Open(t, b.URL) // another process on the same file
	var wins atomic.Int64
	var wg sync.WaitGroup
	for i := range 40 {
		box := b
		if i%2 == 1 {
			box = other
		}
		wg.Go(func() {
			// All want C-7, each with other seats in another order.
			seats := []string{"C-7", fmt.Sprintf("C-%d", 8+i%3)}
			if i%4 > 1 {
				slices.Reverse(seats)
			}
			_, err := box.Booking.Reserve(context.Background(), fmt.Sprintf("fan-%d", i), "show-1", seats)
			var taken *catalog.TakenError
			switch {
			case err == nil:
				wins.Add(1)
			case !errors.As(err, &taken):
				t.Errorf("hold: %v", err)
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, 1, wins.Load(), "of 40 got the seat")
	assert.Equal(t, "2", b.Query(t, `SELECT COUNT(*) FROM seats WHERE status = 'HOLD'`), "seats are held")
}

// paid makes a reservation with a payment that has just succeeded.
func paid(t *testing.T, b *boxtest.Box, seats ...string) (reservation string, success event.Event) {
	t.Helper()
	r := b.Reserve(t, "ann", seats...)
	return r.ID, b.Paid(t, b.Pay(t, r, boxtest.Approve))
}

func TestSoldAfterCancel(t *testing.T) {
	b := boxtest.New(t)
	id, success := paid(t, b, "A-1")
	_, err := b.Booking.Cancel(t.Context(), "ann", id)
	require.NoError(t, err)
	b.Must(t, events.GroupSold, success, "none left")
	assert.Equal(t, "HOLD", b.Seat(t, "show-1", "A-1"), "before the release the seat")
	b.Deliver(t, b.Outbox.Take()...)
	assert.Equal(t, "AVAILABLE", b.Seat(t, "show-1", "A-1"), "after the release the seat")
}

func TestReleaseAfterSold(t *testing.T) {
	b := boxtest.New(t)
	id, success := paid(t, b, "A-1", "A-2")
	b.Must(t, events.GroupSold, success, "sold") // before the reservation is confirmed
	_, err := b.Booking.Cancel(t.Context(), "ann", id)
	require.NoError(t, err)
	for _, e := range b.Outbox.Take() {
		if e.Type == events.ReservationCancelled {
			b.Must(t, events.GroupRelease, e, "released")
			b.Must(t, events.GroupRelease, e, "none held")
		}
	}
	assert.Equal(t, "AVAILABLE", b.Seat(t, "show-1", "A-2"), "the seat")
	b.Must(t, events.GroupSold, success, "none left") // a redelivery finds no seat
	assert.Equal(t, "AVAILABLE", b.Seat(t, "show-1", "A-2"), "after the redelivery the seat")
}

func TestReleaseLeavesOthers(t *testing.T) {
	b := boxtest.New(t)
	id, success := paid(t, b, "A-1")
	_, err := b.Booking.Cancel(t.Context(), "ann", id)
	require.NoError(t, err)
	gone := b.Outbox.Take()
	b.Deliver(t, gone...)
	next := b.Reserve(t, "bob", "A-1")
	for _, e := range gone { // redelivered late
		if e.Type == events.ReservationCancelled {
			b.Must(t, events.GroupRelease, e, "none held")
		}
	}
	b.Must(t, events.GroupSold, success, "none left")
	if got := b.Query(t, `SELECT status || ' ' || reservation_id FROM seats WHERE show_id = 'show-1' AND seat_id = 'A-1'`); got != "HOLD "+next.ID {
		t.Errorf("bob's seat is %s", got)
	}
}

func TestReaderSeesItsWrite(t *testing.T) {
	b := boxtest.New(t)
	seats := func() string {
		all, err := b.Catalog.Seats(t.Context(), "show-1")
		require.NoError(t, err)
		return all[0].Status
	}
	require.Equal(t, "AVAILABLE", seats())
	r := b.Reserve(t, "ann", "A-1")
	assert.Equal(t, "HOLD", seats(), "after the hold the plan")
	if s, err := b.Catalog.Show(t.Context(), "show-1"); err != nil || s.Seats.Held != 1 || s.Seats.Available != 499 {
		t.Errorf("after the hold the counts are %+v, %v", s.Seats, err)
	}
	b.Must(t, events.GroupSold, b.Paid(t, b.Pay(t, r, boxtest.Approve)), "sold")
	assert.Equal(t, "SOLD", seats(), "after the sale the plan")
}

func TestMalformedEvents(t *testing.T) {
	b := boxtest.New(t)
	e, err := events.New(events.PaymentSuccess, "payment", "p", "ann", true, []int{1})
	require.NoError(t, err)
	if _, err := b.Handle(t.Context(), events.GroupSold, e); err == nil {
		t.Error("a payment without data sold something")
	}
	e.Type, e.AggregateType, e.AggregateID = events.ReservationCancelled, "reservation", ""
	if _, err := b.Handle(t.Context(), events.GroupRelease, e); err == nil {
		t.Error("a cancellation of nothing released something")
	}
}

// A refused hold must not be half done even when its transaction goes on.
func TestRefusedHoldIsAnError(t *testing.T) {
	b := boxtest.New(t)
	b.Reserve(t, "ann", "A-1")
	err := b.Store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return b.Catalog.Hold(ctx, tx, "r", "show-1", []string{"A-1", "A-2"}, 1)
	})
	var taken *catalog.TakenError
	if !errors.As(err, &taken) {
		t.Fatal(err)
	}
	assert.Equal(t, "AVAILABLE", b.Seat(t, "show-1", "A-2"), "A-2")
}
