package booking_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/fault"
)

func TestMain(m *testing.M) { boxtest.Main(m) }

// only returns the one event of a type among those appended since the last look.
func only(t *testing.T, b *boxtest.Box, typ string) event.Event {
	t.Helper()
	var found []event.Event
	for _, e := range b.Outbox.Take() {
		if e.Type == typ {
			found = append(found, e)
		}
	}
	require.Lenf(t, found, 1, "%d events %s, want 1", len(found), typ)
	return found[0]
}

// reason of a ReservationCancelled.
func reason(t *testing.T, e event.Event) string {
	t.Helper()
	var c events.Cancelled
	require.NoError(t, e.UnmarshalData(&c))
	return c.Reason
}

func TestReserve(t *testing.T) {
	b := boxtest.New(t)
	began := time.Now()
	r := b.Reserve(t, "ann", "F-2", "E-1")
	if r.Status != booking.Pending || r.Amount != 120_000+150_000 {
		t.Errorf("%+v", r)
	}
	if left := r.HoldExpiresAt.Sub(began); left < 4*time.Minute+55*time.Second || left > 5*time.Minute+time.Since(began) {
		t.Errorf("the hold lasts %v", left)
	}
	got, err := b.Booking.Get(t.Context(), "ann", r.ID)
	if err != nil || !slices.Equal(got.SeatIDs, []string{"E-1", "F-2"}) || got.Amount != r.Amount || !got.HoldExpiresAt.Equal(r.HoldExpiresAt) {
		t.Errorf("read back: %+v, %v", got, err)
	}
	e := only(t, b, events.ReservationCreated)
	if e.Key() != "ann" || e.AggregateID != r.ID {
		t.Errorf("event: key %q, aggregate %q", e.Key(), e.AggregateID)
	}
	if _, err := b.Booking.Get(t.Context(), "bob", r.ID); !errors.Is(err, booking.ErrNotFound) {
		t.Errorf("somebody else's: %v", err)
	}
	if _, err := b.Booking.Reserve(t.Context(), "ann", "show-9", []string{"A-1"}); !errors.Is(err, catalog.ErrNoShow) {
		t.Errorf("an unknown show: %v", err)
	}
	second := b.Reserve(t, "ann", "A-9")
	list, err := b.Booking.List(t.Context(), "ann")
	if err != nil || len(list) != 2 || !slices.ContainsFunc(list, func(x booking.Reservation) bool { return x.ID == second.ID && slices.Equal(x.SeatIDs, []string{"A-9"}) }) {
		t.Errorf("list: %+v, %v", list, err)
	}
}

// The payload's names are a contract.
func TestCancelledPayload(t *testing.T) {
	b := boxtest.New(t)
	r := b.Reserve(t, "ann", "A-1", "A-2")
	_, err := b.Booking.Cancel(t.Context(), "ann", r.ID)
	require.NoError(t, err)
	e := only(t, b, events.ReservationCancelled)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(e.Data, &fields))
	if len(fields) != 4 || fields["scheduleId"] != "show-1" || fields["reason"] != "USER_REQUEST" || len(fields["seatIds"].([]any)) != 2 {
		t.Errorf("payload: %v", fields)
	}
	_, err = time.Parse(time.RFC3339, fields["cancelledAt"].(string))
	assert.NoError(t, err)
}

func TestSuccessConfirms(t *testing.T) {
	b := boxtest.New(t)
	r := b.Reserve(t, "ann", "A-1")
	success := b.Paid(t, b.Pay(t, r, boxtest.Approve))
	b.Outbox.Take()
	b.Must(t, events.GroupReservation, success, "confirmed")
	told := b.Outbox.Take()
	require.Len(t, told, 3, "events")
	for i, want := range []struct{ typ, key string }{
		{events.ReservationConfirmed, "ann"}, {events.OrderCompleted, "show-1"}, {events.ReservationNotice, "ann"},
	} {
		if e := told[i]; e.Type != want.typ || e.Key() != want.key || e.CausationID != success.ID {
			t.Errorf("event %d: %s with key %q by %q", i, e.Type, e.Key(), e.CausationID)
		}
	}
	var order events.Ordered
	var notice events.Noticed
	require.NoError(t, errors.Join(told[1].UnmarshalData(&order), told[2].UnmarshalData(&notice)))
	if order.ReservationID != r.ID || order.Seats != 1 || order.Amount != r.Amount || order.OrderedAt.IsZero() {
		t.Errorf("%+v", order)
	}
	if notice.MemberID != "ann" || notice.RefID != r.ID || notice.Message != "Your seat A-1 for Moonlight Parade is booked" ||
		notice.Params.Outcome != events.OutcomeConfirmed || notice.Params.Reason != "" || !slices.Equal(notice.Params.Seats, []string{"A-1"}) {
		t.Errorf("%+v", notice)
	}
	assert.Equal(t, "CONFIRMED", b.Status(t, r.ID))
	// A redelivery past the guard changes nothing.
	b.Must(t, events.GroupReservation, success, "already confirmed")
	assert.Empty(t, b.Outbox.Take(), "events of the redelivery")
}

func TestSuccessAgainstTimeout(t *testing.T) {
	b := boxtest.New(t)
	lease, err := b.Store.TakeLease(t.Context(), "sweep", "test", time.Minute)
	require.NoError(t, err)
	// The timeout is first: the money is refunded.
	late := b.Reserve(t, "ann", "A-1")
	p := b.Pay(t, late, boxtest.Timeout)
	b.Expire(t, late.ID)
	if n, err := b.Booking.Sweep(t.Context(), lease, 10); n != 1 || err != nil {
		t.Fatalf("sweep: %d, %v", n, err)
	}
	b.Must(t, events.GroupReservation, b.Paid(t, p), "late")
	assert.Equal(t, "REQUESTED LATE", b.Refund(t, p), "refund")
	b.Must(t, events.GroupReservation, b.PaidBack(t, p), "already ended")
	assert.Equal(t, "CANCELLED HOLD_TIMEOUT", b.Status(t, late.ID))
	// The success is first, though the time is over: the timeout finds nothing.
	b.Outbox.Take()
	early := b.Reserve(t, "bob", "B-1")
	q := b.Pay(t, early, boxtest.Timeout)
	b.Expire(t, early.ID)
	b.Must(t, events.GroupReservation, b.Paid(t, q), "confirmed")
	if n, err := b.Booking.Sweep(t.Context(), lease, 10); n != 0 || err != nil {
		t.Errorf("sweep: %d, %v", n, err)
	}
	assert.Equal(t, "CONFIRMED, NONE", b.Status(t, early.ID)+", "+b.Refund(t, q))
}

func TestSuccessAgainstCancel(t *testing.T) {
	b := boxtest.New(t)
	r := b.Reserve(t, "ann", "A-1")
	p := b.Pay(t, r, boxtest.Approve)
	got, err := b.Booking.Cancel(t.Context(), "ann", r.ID)
	if err != nil || got.Status != booking.Cancelled || got.Reason != booking.UserRequest {
		t.Fatalf("%+v, %v", got, err)
	}
	assert.Equal(t, booking.UserRequest, reason(t, only(t, b, events.ReservationCancelled)))
	b.Must(t, events.GroupReservation, b.Paid(t, p), "late")
	assert.Equal(t, "REQUESTED LATE", b.Refund(t, p))
	// Cancelling again changes nothing.
	_, err = b.Booking.Cancel(t.Context(), "ann", r.ID)
	assert.NoError(t, err)
	assert.Empty(t, b.Outbox.Take(), "events of the second cancellation")
	if _, err := b.Booking.Cancel(t.Context(), "bob", r.ID); !errors.Is(err, booking.ErrNotFound) {
		t.Errorf("somebody else's: %v", err)
	}
}

// All at once, many times: the books agree for every winner.
func TestRaces(t *testing.T) {
	b := boxtest.New(t)
	lease, err := b.Store.TakeLease(t.Context(), "sweep", "test", time.Minute)
	require.NoError(t, err)
	for i := range 15 {
		seat := []string{"A-1", "A-2"}
		r := b.Reserve(t, "ann", seat...)
		p := b.Pay(t, r, boxtest.Approve)
		success := b.Paid(t, p)
		b.Expire(t, r.ID)
		var wg sync.WaitGroup
		for _, race := range []func() error{
			func() error { _, err := b.Handle(context.Background(), events.GroupReservation, success); return err },
			func() error { _, err := b.Handle(context.Background(), events.GroupSold, success); return err },
			func() error { _, err := b.Booking.Cancel(context.Background(), "ann", r.ID); return err },
			func() error { _, err := b.Booking.Sweep(context.Background(), lease, 10); return err },
		} {
			wg.Go(func() {
				assert.NoError(t, race())
			})
		}
		wg.Wait()
		b.Deliver(t, b.Outbox.Take()...)
		if b.Query(t, `SELECT refund_state FROM payments WHERE payment_id = $1`, p.ID) == "REQUESTED" {
			b.Deliver(t, b.PaidBack(t, p))
		}
		status := b.Status(t, r.ID)
		money := b.Query(t, `SELECT status FROM payments WHERE payment_id = $1`, p.ID)
		seats := b.Seat(t, "show-1", "A-1")
		if status == "CONFIRMED" {
			if money != "SUCCESS" || seats != "SOLD" {
				t.Fatalf("round %d: %s, payment %s, seat %s", i, status, money, seats)
			}
			_, err := b.Booking.Cancel(t.Context(), "ann", r.ID)
			require.NoError(t, err)
			b.Deliver(t, b.PaidBack(t, p))
		} else if money != "REFUNDED" || seats != "AVAILABLE" {
			t.Fatalf("round %d: %s, payment %s, seat %s", i, status, money, seats)
		}
	}
	assert.Equal(t, "0", b.Query(t, `SELECT COUNT(*) FROM seats WHERE status <> 'AVAILABLE'`), "seats are not free in the end")
}

func TestFailureCancels(t *testing.T) {
	b := boxtest.New(t)
	r := b.Reserve(t, "ann", "A-1")
	failed := b.NotPaid(t, b.Pay(t, r, boxtest.Decline))
	b.Outbox.Take()
	b.Must(t, events.GroupReservation, failed, "cancelled")
	assert.Equal(t, "CANCELLED PAYMENT_FAILED", b.Status(t, r.ID))
	b.Deliver(t, b.Outbox.Take()...)
	assert.Equal(t, "AVAILABLE", b.Seat(t, "show-1", "A-1"))
	b.Must(t, events.GroupReservation, failed, "already ended")
}

func TestCancelConfirmed(t *testing.T) {
	b := boxtest.New(t)
	r := b.Reserve(t, "ann", "A-1")
	p := b.Pay(t, r, boxtest.Approve)
	b.Deliver(t, b.Paid(t, p))
	got, err := b.Booking.Cancel(t.Context(), "ann", r.ID)
	if err != nil || got.Status != booking.Confirmed || got.RefundState != "REQUESTED" || got.RefundReason != booking.UserRequest {
		t.Fatalf("%+v, %v", got, err)
	}
	assert.Equal(t, "SOLD", b.Seat(t, "show-1", "A-1"), "before the money is back the seat")
	_, err = b.Booking.Cancel(t.Context(), "ann", r.ID)
	assert.NoError(t, err, "again")
	back := b.PaidBack(t, p)
	b.Must(t, events.GroupReservation, back, "cancelled")
	e := only(t, b, events.ReservationCancelled)
	if why := reason(t, e); why != booking.Refunded || e.CausationID != back.ID {
		t.Errorf("reason %s, cause %s", why, e.CausationID)
	}
	b.Deliver(t, e)
	assert.Equal(t, "CANCELLED REFUNDED, AVAILABLE", b.Status(t, r.ID)+", "+b.Seat(t, "show-1", "A-1"))
}

// PaymentSuccess was parked as a dead letter, the refund comes, and then the
// success is redriven.
func TestRefundBeforeSuccess(t *testing.T) {
	b := boxtest.New(t)
	r := b.Reserve(t, "ann", "A-1")
	p := b.Pay(t, r, boxtest.Approve)
	success := b.Paid(t, p)
	_, err := b.Payments.Refund(t.Context(), "ann", p.ID)
	require.NoError(t, err)
	b.Deliver(t, b.PaidBack(t, p))
	assert.Equal(t, "CANCELLED REFUNDED", b.Status(t, r.ID))
	b.Must(t, events.GroupReservation, success, "late")
	b.Must(t, events.GroupSold, success, "none left")
	assert.Equal(t, "DONE USER_REQUEST, AVAILABLE", b.Refund(t, p)+", "+b.Seat(t, "show-1", "A-1"))
}

func TestSweep(t *testing.T) {
	b := boxtest.New(t)
	over := b.Reserve(t, "ann", "A-1", "A-2")
	runs := b.Reserve(t, "bob", "B-1")
	paid := b.Reserve(t, "cid", "C-1")
	b.Deliver(t, b.Paid(t, b.Pay(t, paid, boxtest.Approve)))
	b.Outbox.Take()
	b.Expire(t, over.ID)
	b.Expire(t, paid.ID)

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Booking.Run(ctx) }()
	boxtest.WaitFor(t, "the end of the hold that is over", func() bool { return b.Status(t, over.ID) == "CANCELLED HOLD_TIMEOUT" })
	// A hold that is made while the sweeper waits ends in time too.
	b.Exec(t, `UPDATE reservations SET hold_expires_at = now_ms() + 50 WHERE reservation_id = $1`, runs.ID)
	boxtest.WaitFor(t, "the end of the hold that ran out meanwhile", func() bool { return b.Status(t, runs.ID) == "CANCELLED HOLD_TIMEOUT" })
	cancel()
	assert.NoError(t, <-done)
	assert.Equal(t, "CONFIRMED", b.Status(t, paid.ID))
	all := b.Outbox.Take()
	var types []string
	for _, e := range all {
		types = append(types, e.Type)
	}
	want := []string{events.ReservationCancelled, events.ReservationNotice, events.ReservationCancelled, events.ReservationNotice}
	if !slices.Equal(types, want) || reason(t, all[0]) != booking.HoldTimeout {
		t.Errorf("events: %v", all)
	}
	b.Deliver(t, all...)
	assert.Equal(t, "AVAILABLESOLD", b.Seat(t, "show-1", "A-2")+b.Seat(t, "show-1", "C-1"))
	// The lease was given back.
	_, err := b.Store.TakeLease(t.Context(), "hold-timeout", "another", time.Minute)
	assert.NoError(t, err, "the lease after the end")
}

func TestSweepFenced(t *testing.T) {
	b := boxtest.New(t)
	mine, err := b.Store.TakeLease(t.Context(), "hold-timeout", "test", time.Minute)
	require.NoError(t, err)
	r := b.Reserve(t, "ann", "A-1")
	b.Outbox.Take()
	b.Expire(t, r.ID)
	b.Exec(t, `UPDATE leases SET expires_at = 1`)
	theirs, err := b.Store.TakeLease(t.Context(), "hold-timeout", "another", time.Minute)
	require.NoError(t, err)
	if n, err := b.Booking.Sweep(t.Context(), mine, 10); n != 0 || !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("without the lease: %d, %v", n, err)
	}
	if got := b.Status(t, r.ID); got != "PENDING" || len(b.Outbox.Take()) != 0 {
		t.Errorf("a fenced sweeper made it %s", got)
	}
	if n, err := b.Booking.Sweep(t.Context(), theirs, 10); n != 1 || err != nil {
		t.Errorf("with the lease: %d, %v", n, err)
	}
}

func TestSweepInBatches(t *testing.T) {
	b := boxtest.New(t)
	lease, err := b.Store.TakeLease(t.Context(), "sweep", "test", time.Minute)
	require.NoError(t, err)
	for _, seat := range []string{"A-1", "A-2", "A-3"} {
		b.Expire(t, b.Reserve(t, "ann", seat).ID)
	}
	for _, want := range []int{2, 1, 0} {
		if n, err := b.Booking.Sweep(t.Context(), lease, 2); n != want || err != nil {
			t.Errorf("swept %d, %v; want %d", n, err, want)
		}
	}
}

func TestUnknownReservation(t *testing.T) {
	b := boxtest.New(t)
	for typ, data := range map[string]any{
		events.PaymentSuccess:  events.Paid{ReservationID: "nobody's", PaymentID: "p", PaymentType: events.ForReservation},
		events.PaymentFailed:   events.NotPaid{ReservationID: "nobody's", PaymentID: "p", PaymentType: events.ForReservation},
		events.PaymentRefunded: events.PaidBack{ReservationID: "nobody's", PaymentID: "p", PaymentType: events.ForReservation},
	} {
		e, err := events.New(typ, "payment", "p", "ann", true, data)
		require.NoError(t, err)
		if _, err := b.Handle(t.Context(), events.GroupReservation, e); fault.Of(err) != fault.Permanent {
			t.Errorf("%s: %v", typ, err)
		}
		e.Data = []byte(`{"paymentId":`)
		if _, err := b.Handle(t.Context(), events.GroupReservation, e); fault.Of(err) != fault.Permanent {
			t.Errorf("malformed %s: %v", typ, err)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	b := boxtest.New(t)
	for _, cfg := range []booking.Config{{}, {Holder: "x", Hold: -1}, {Holder: "x", LeaseTTL: -1}} {
		if _, err := booking.New(b.Store, b.Catalog, b.Outbox, b.Payments, cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}

// told is the notification among the last events, which are about the reservation.
func told(t *testing.T, b *boxtest.Box, r booking.Reservation) events.Noticed {
	t.Helper()
	e := only(t, b, events.ReservationNotice)
	var notice events.Noticed
	require.NoError(t, e.UnmarshalData(&notice))
	if notice.RefID != r.ID || notice.MemberID != "ann" || e.Key() != "ann" || time.Since(notice.At).Abs() > time.Minute {
		t.Errorf("%+v with key %s", notice, e.Key())
	}
	return notice
}

// The member is notified of the end of each reservation: by parameters, and in
// English for readers that do not know them.
func TestCancelledNotice(t *testing.T) {
	b := boxtest.New(t)
	for reason, c := range map[string]struct {
		end  func(r booking.Reservation)
		text string
	}{
		booking.UserRequest: {func(r booking.Reservation) {
			_, err := b.Booking.Cancel(t.Context(), "ann", r.ID)
			require.NoError(t, err)
		}, "as you asked"},
		booking.PaymentFailed: {func(r booking.Reservation) {
			failed := b.NotPaid(t, b.Pay(t, r, boxtest.Decline))
			b.Outbox.Take()
			b.Must(t, events.GroupReservation, failed, "cancelled")
		}, "the payment failed"},
		booking.HoldTimeout: {func(r booking.Reservation) {
			b.Expire(t, r.ID)
			lease, err := b.Store.TakeLease(t.Context(), "sweep", "test", time.Minute)
			require.NoError(t, err)
			if n, err := b.Booking.Sweep(t.Context(), lease, 10); n != 1 || err != nil {
				t.Fatalf("swept %d, %v", n, err)
			}
		}, "the hold timed out"},
		booking.Refunded: {func(r booking.Reservation) {
			p := b.Pay(t, r, boxtest.Approve)
			b.Must(t, events.GroupReservation, b.Paid(t, p), "confirmed")
			_, err := b.Booking.Cancel(t.Context(), "ann", r.ID)
			require.NoError(t, err)
			back := b.PaidBack(t, p)
			b.Outbox.Take()
			b.Must(t, events.GroupReservation, back, "cancelled")
		}, "the money is back"},
	} {
		r := b.Reserve(t, "ann", "A-1", "A-2")
		b.Outbox.Take()
		c.end(r)
		notice := told(t, b, r)
		want := events.NoticeParams{Show: "Moonlight Parade", Seats: []string{"A-1", "A-2"}, Outcome: events.OutcomeCancelled, Reason: reason}
		if !reflect.DeepEqual(notice.Params, want) || notice.Message != "Your seats A-1, A-2 for Moonlight Parade are cancelled: "+c.text {
			t.Errorf("%s: %+v", reason, notice)
		}
		b.Exec(t, `UPDATE seats SET status = 'AVAILABLE', reservation_id = NULL, hold_expires_at = NULL`)
	}
}

// Money that came when the reservation had ended is refunded, and the member is
// notified.
func TestLateMoneyIsTold(t *testing.T) {
	b := boxtest.New(t)
	r := b.Reserve(t, "ann", "A-1")
	p := b.Pay(t, r, boxtest.Approve)
	_, err := b.Booking.Cancel(t.Context(), "ann", r.ID)
	require.NoError(t, err)
	b.Must(t, events.GroupReservation, b.Paid(t, p), "late")
	back := b.PaidBack(t, p)
	b.Outbox.Take()
	b.Must(t, events.GroupReservation, back, "already ended")
	notice := told(t, b, r)
	want := events.NoticeParams{Show: "Moonlight Parade", Seats: []string{"A-1"}, Outcome: events.OutcomeRefunded, Reason: booking.Late}
	if !reflect.DeepEqual(notice.Params, want) || !strings.HasPrefix(notice.Message, "Your payment for seat A-1 for Moonlight Parade came too late") {
		t.Errorf("%+v", notice)
	}
	// A requested refund is announced with the end of its reservation, once.
	r = b.Reserve(t, "ann", "A-2")
	p = b.Pay(t, r, boxtest.Approve)
	b.Must(t, events.GroupReservation, b.Paid(t, p), "confirmed")
	_, err = b.Booking.Cancel(t.Context(), "ann", r.ID)
	require.NoError(t, err)
	back = b.PaidBack(t, p)
	b.Must(t, events.GroupReservation, back, "cancelled")
	b.Outbox.Take()
	b.Must(t, events.GroupReservation, back, "already ended")
	assert.Empty(t, b.Outbox.Take(), "told once more")
}

// A member that reserves and cancels all day does not make its own list ever more costly.
func TestListIsBounded(t *testing.T) {
	b := boxtest.New(t)
	const most = 200
	for range most + 3 {
		r := b.Reserve(t, "ann", "A-1", "A-2")
		_, err := b.Booking.Cancel(t.Context(), "ann", r.ID)
		require.NoError(t, err)
		b.Deliver(t, b.Outbox.Take()...)
	}
	last := b.Reserve(t, "ann", "A-2", "A-1")
	seats, err := b.Booking.SeatsOfMember(t.Context(), "ann")
	if err != nil || len(seats) != most {
		t.Errorf("the seats of %d reservations were read, want %d: %v", len(seats), most, err)
	}
	list, err := b.Booking.List(t.Context(), "ann")
	if err != nil || len(list) != most || list[0].ID != last.ID {
		t.Fatalf("%d, %v", len(list), err)
	}
	for _, r := range list {
		assert.Equalf(t, []string{"A-1", "A-2"}, r.SeatIDs, "%s has the seats %v", r.ID, r.SeatIDs)
	}
}
