package payment_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
	"github.com/millrace-go/millrace/fault"
)

// ticket is a confirmed reservation and its payment.
func ticket(t *testing.T, b *boxtest.Box, member, seat string) (booking.Reservation, payment.Payment) {
	t.Helper()
	r := b.Reserve(t, member, seat)
	p := b.Pay(t, r, boxtest.Approve)
	b.Deliver(t, b.Paid(t, p))
	b.Outbox.Take()
	return r, p
}

func transfer(r booking.Reservation, key, to string) payment.Request {
	return payment.Request{Key: key, Member: r.MemberID, Type: events.ForTransfer, ReservationID: r.ID, ToMember: to, Amount: r.Amount, Card: boxtest.Approve}
}

// agreed offers the ticket and has the receiver accept it.
func agreed(t *testing.T, b *boxtest.Box, req payment.Request) payment.Payment {
	t.Helper()
	p, err := b.Payments.Start(t.Context(), req)
	require.NoError(t, err)
	if x, err := b.Payments.Accept(t.Context(), req.ToMember, p.ReferenceID); err != nil || x.Status != payment.Accepted {
		t.Fatalf("%+v, %v", x, err)
	}
	b.Outbox.Take()
	return p
}

func TestRefund(t *testing.T) {
	b, bank := boxtest.New(t), newBank(t)
	r := b.Reserve(t, "ann", "A-1")
	p := b.Pay(t, r, boxtest.Approve)
	var not *payment.NotRefundableError
	if _, err := b.Payments.Refund(t.Context(), "ann", p.ID); !errors.As(err, &not) {
		t.Errorf("while it is under way: %v", err)
	}
	execute(t, b, bank.url, nil)
	settled(t, b, p.ID, payment.Success)
	b.Deliver(t, b.Outbox.Take()...)

	// The gateway carries the refund out, and its answers are lost twice.
	var lost atomic.Int64
	bank.set(func(r *http.Request) failure {
		if r.Method == http.MethodPost && lost.Add(1) <= 2 {
			return lostAnswer
		}
		return none
	})
	for range 3 {
		if got, err := b.Payments.Refund(t.Context(), "ann", p.ID); err != nil || got.RefundState == "NONE" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if _, err := b.Payments.Refund(t.Context(), "bob", p.ID); !errors.Is(err, payment.ErrNotFound) {
		t.Errorf("somebody else's: %v", err)
	}
	settled(t, b, p.ID, payment.Refunded)
	all := about(b.Outbox.Take())
	var back events.PaidBack
	if len(all) != 1 || all[0].Type != events.PaymentRefunded {
		t.Fatalf("events: %v", all)
	} else if err := all[0].UnmarshalData(&back); err != nil || back.Reason != booking.UserRequest || back.PortoneTransactionID == "" {
		t.Errorf("%+v, %v", back, err)
	}
	b.Deliver(t, all...)
	assert.Equal(t, "CANCELLED REFUNDED, AVAILABLE", b.Status(t, r.ID)+", "+b.Seat(t, "show-1", "A-1"))
	if got, err := b.Payments.Refund(t.Context(), "ann", p.ID); err != nil || got.Status != payment.Refunded {
		t.Errorf("again: %+v, %v", got, err)
	}
	if l := bank.ledger(t); l.Refunded != 1 || l.RefundedAmount != p.Amount {
		t.Errorf("ledger: %+v", l)
	}
}

// A key may be a step in a path.
func TestRefundOfKeyOfDots(t *testing.T) {
	b, bank := boxtest.New(t), newBank(t)
	execute(t, b, bank.url, nil)
	for seat, key := range map[string]string{"A-1": ".", "A-2": ".."} {
		r := b.Reserve(t, "ann", seat)
		p, err := b.Payments.Start(t.Context(), payment.Request{
			Key: key, Member: "ann", Type: events.ForReservation, ReservationID: r.ID, Amount: r.Amount, Card: boxtest.Approve})
		require.NoError(t, err)
		settled(t, b, p.ID, payment.Success)
		_, err = b.Payments.Refund(t.Context(), "ann", p.ID)
		require.NoError(t, err)
		settled(t, b, p.ID, payment.Refunded)
	}
}

func TestNotRefundable(t *testing.T) {
	b := boxtest.New(t)
	p := b.Pay(t, b.Reserve(t, "ann", "A-1"), boxtest.Decline)
	var not *payment.NotRefundableError
	if _, err := b.Payments.Refund(t.Context(), "ann", p.ID); !errors.As(err, &not) || not.Status != payment.Processing {
		t.Errorf("PROCESSING: %v", err)
	}
	b.Deliver(t, b.NotPaid(t, p))
	if _, err := b.Payments.Refund(t.Context(), "ann", p.ID); !errors.As(err, &not) || not.Status != payment.Failed {
		t.Errorf("FAILED: %v", err)
	}
	m, err := b.Payments.Start(t.Context(), payment.Request{Key: "m", Member: "ann", Type: events.ForMembership, Amount: payment.MembershipPrice, Card: boxtest.Approve})
	require.NoError(t, err)
	b.Deliver(t, b.Paid(t, m))
	if _, err := b.Payments.Refund(t.Context(), "ann", m.ID); !errors.As(err, &not) || not.Type != events.ForMembership {
		t.Errorf("a membership: %v", err)
	}
}

func TestTransfer(t *testing.T) {
	b := boxtest.New(t)
	r, paid := ticket(t, b, "ann", "A-1")
	p := agreed(t, b, transfer(r, "t", "bob"))
	if p.Type != events.ForTransfer || p.ReservationID != r.ID {
		t.Fatalf("%+v", p)
	}
	if _, err := b.Payments.Start(t.Context(), transfer(r, "t2", "cid")); !errors.Is(err, payment.ErrTransferring) {
		t.Errorf("a second transfer: %v", err)
	}
	success := b.Paid(t, p)
	b.Must(t, events.GroupReservation, success, "not a reservation")
	b.Must(t, events.GroupSold, success, "not seats")
	b.Must(t, events.GroupTickets, success, "transferred")
	all := ofType(b.Outbox.Take(), events.TransferCompleted)
	if len(all) != 1 || all[0].Key() != p.ReferenceID || all[0].TargetID != "bob" {
		t.Fatalf("events: %v", all)
	}
	b.Deliver(t, all...)
	if got, err := b.Booking.Get(t.Context(), "bob", r.ID); err != nil || got.Status != booking.Confirmed || !got.Transferred {
		t.Errorf("bob's: %+v, %v", got, err)
	}
	if _, err := b.Booking.Get(t.Context(), "ann", r.ID); !errors.Is(err, booking.ErrNotFound) {
		t.Errorf("ann still has it: %v", err)
	}
	// A transferred ticket is not refunded.
	if _, err := b.Payments.Refund(t.Context(), "ann", paid.ID); !errors.Is(err, booking.ErrHandedOn) {
		t.Errorf("ann's refund: %v", err)
	}
	if _, err := b.Booking.Cancel(t.Context(), "bob", r.ID); !errors.Is(err, booking.ErrHandedOn) {
		t.Errorf("bob's cancellation: %v", err)
	}
	if s, err := b.Stats.All(t.Context()); err != nil || s["transfers_completed"] != 1 || s["transfer_amount"] != r.Amount {
		t.Errorf("statistics: %v, %v", s, err)
	}
	// The ticket can be transferred again.
	r.MemberID = "bob"
	again := agreed(t, b, transfer(r, "t3", "cid"))
	b.Deliver(t, b.Paid(t, again))
	_, err := b.Booking.Get(t.Context(), "cid", r.ID)
	assert.NoError(t, err)
}

// A redelivery past the guard refunds nothing: the receiver has the ticket.
func TestTransferPaidAgain(t *testing.T) {
	b := boxtest.New(t)
	r, _ := ticket(t, b, "ann", "A-1")
	p := agreed(t, b, transfer(r, "t", "bob"))
	paid := b.Paid(t, p)
	b.Must(t, events.GroupTickets, paid, "transferred")
	b.Outbox.Take()
	b.Must(t, events.GroupTickets, paid, "already transferred")
	assert.Equal(t, "NONE", strings.TrimSpace(b.Refund(t, p)))
	assert.Empty(t, b.Outbox.Take(), "events")
	assert.Equal(t, "bob 2", b.Query(t, `SELECT member_id || ' ' || generation FROM reservations WHERE reservation_id = $1`, r.ID))
}

func TestTransferRefusals(t *testing.T) {
	b := boxtest.New(t)
	r, _ := ticket(t, b, "ann", "A-1")
	start := func(req payment.Request) error { _, err := b.Payments.Start(t.Context(), req); return err }
	assert.ErrorIs(t, start(transfer(r, "1", "ann")), payment.ErrSelfTransfer, "to herself")
	bobs := transfer(r, "2", "cid")
	bobs.Member = "bob"
	assert.ErrorIs(t, start(bobs), booking.ErrNotFound, "somebody else's")
	cheap := transfer(r, "3", "bob")
	cheap.Amount = 1
	var amount *payment.AmountError
	if err := start(cheap); !errors.As(err, &amount) || amount.Expected != r.Amount {
		t.Errorf("cheap: %v", err)
	}
	var pending *payment.NotConfirmedError
	if err := start(transfer(b.Reserve(t, "ann", "A-2"), "4", "bob")); !errors.As(err, &pending) {
		t.Errorf("a hold: %v", err)
	}
	_, err := b.Booking.Cancel(t.Context(), "ann", r.ID)
	require.NoError(t, err)
	assert.ErrorIs(t, start(transfer(r, "5", "bob")), payment.ErrRefunding, "a ticket that is being given back")
}

// The ticket is given back while the transfer's payment is in flight.
func TestTransferTooLate(t *testing.T) {
	b := boxtest.New(t)
	r, paid := ticket(t, b, "ann", "A-1")
	p := agreed(t, b, transfer(r, "t", "bob"))
	_, err := b.Payments.Refund(t.Context(), "ann", paid.ID)
	require.NoError(t, err)
	b.Must(t, events.GroupTickets, b.Paid(t, p), "late")
	assert.Equal(t, "REQUESTED LATE, REQUESTED USER_REQUEST", b.Refund(t, p)+", "+b.Refund(t, paid))
	all := ofType(b.Outbox.Take(), events.TransferCancelled)
	require.Len(t, all, 1, "events")
	b.Deliver(t, append(all, b.PaidBack(t, paid), b.PaidBack(t, p))...)
	assert.Equal(t, "CANCELLED REFUNDED", b.Status(t, r.ID))
	if s, err := b.Stats.All(t.Context()); err != nil || s["transfers_cancelled"] != 1 || s["refund_amount"] != 2*r.Amount {
		t.Errorf("statistics: %v, %v", s, err)
	}
}

func TestTransferDeclined(t *testing.T) {
	b := boxtest.New(t)
	r, _ := ticket(t, b, "ann", "A-1")
	req := transfer(r, "t", "bob")
	req.Card = boxtest.Decline
	p := agreed(t, b, req)
	b.Must(t, events.GroupTickets, b.NotPaid(t, p), "cancelled")
	assert.Equal(t, "CANCELLED PAYMENT_FAILED", b.Query(t, `SELECT status || ' ' || reason FROM transfers`))
	_, err := b.Booking.Get(t.Context(), "ann", r.ID)
	assert.NoError(t, err, "ann lost her ticket")
	// And may try again.
	_, err = b.Payments.Start(t.Context(), transfer(r, "t2", "bob"))
	assert.NoError(t, err)
}

func TestMembership(t *testing.T) {
	b := boxtest.New(t)
	req := payment.Request{Key: "m", Member: "ann", Type: events.ForMembership, Amount: payment.MembershipPrice, Card: boxtest.Approve}
	bad := req
	bad.Amount++
	var amount *payment.AmountError
	if _, err := b.Payments.Start(t.Context(), bad); !errors.As(err, &amount) || amount.Expected != payment.MembershipPrice {
		t.Errorf("amount: %v", err)
	}
	p, err := b.Payments.Start(t.Context(), req)
	require.NoError(t, err)
	success := b.Paid(t, p)
	b.Must(t, events.GroupTickets, success, "activated")
	all := b.Outbox.Take()
	if len(all) != 1 || all[0].Type != events.MembershipActivated || all[0].Key() != p.ReferenceID {
		t.Fatalf("events: %v", all)
	}
	b.Must(t, events.GroupTickets, success, "already ended")
	b.Deliver(t, all...)
	if s, err := b.Stats.All(t.Context()); err != nil || s["memberships"] != 1 {
		t.Errorf("statistics: %v, %v", s, err)
	}
	req.Key, req.Card = "m2", boxtest.Decline
	if p, err = b.Payments.Start(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	b.Must(t, events.GroupTickets, b.NotPaid(t, p), "cancelled")
	assert.Equal(t, "1", b.Query(t, `SELECT COUNT(*) FROM memberships WHERE status = 'ACTIVE'`), "memberships are active")
}

func TestUnknownTickets(t *testing.T) {
	b := boxtest.New(t)
	for _, typ := range []string{events.ForTransfer, events.ForMembership} {
		for _, e := range []struct {
			typ  string
			data any
		}{
			{events.PaymentSuccess, events.Paid{PaymentID: "nobody's", PaymentType: typ}},
			{events.PaymentFailed, events.NotPaid{PaymentID: "nobody's", PaymentType: typ}},
		} {
			ev, err := events.New(e.typ, "payment", "nobody's", "ann", true, e.data)
			require.NoError(t, err)
			check := func(ev event.Event) {
				if _, err := b.Handle(t.Context(), events.GroupTickets, ev); fault.Of(err) != fault.Permanent {
					t.Errorf("%s of a %s: %v", e.typ, typ, err)
				}
			}
			check(ev)
			ev.Data = []byte(`[]`)
			check(ev)
		}
	}
}
