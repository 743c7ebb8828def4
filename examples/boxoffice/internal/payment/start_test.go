package payment_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
)

func request(r booking.Reservation, key string) payment.Request {
	return payment.Request{
		Key: key, Member: r.MemberID, Type: events.ForReservation, ReservationID: r.ID, Amount: r.Amount, Card: boxtest.Approve,
	}
}

func TestKey(t *testing.T) {
	b := boxtest.New(t)
	r := b.Reserve(t, "ann", "A-1")
	first, err := b.Payments.Start(t.Context(), request(r, "k"))
	if err != nil || first.Status != payment.Processing || first.CardLast4 != "4242" || first.ReservationID != r.ID {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := b.Payments.Start(t.Context(), request(r, "k"))
	if err != nil || again.ID != first.ID {
		t.Errorf("the same request: %+v, %v", again, err)
	}
	// In any state of the payment, and of the reservation.
	b.Deliver(t, b.NotPaid(t, first))
	again, err = b.Payments.Start(t.Context(), request(r, "k"))
	if err != nil || again.ID != first.ID || again.Status != payment.Failed || again.FailureReason != "card_declined" {
		t.Errorf("the same request later: %+v, %v", again, err)
	}
	other := b.Reserve(t, "ann", "A-2")
	bobs := b.Reserve(t, "bob", "A-3")
	for name, req := range map[string]payment.Request{
		"another reservation": request(other, "k"),
		"another amount":      {Key: "k", Member: "ann", Type: events.ForReservation, ReservationID: r.ID, Amount: 1, Card: boxtest.Approve},
		"another card":        {Key: "k", Member: "ann", Type: events.ForReservation, ReservationID: r.ID, Amount: r.Amount, Card: boxtest.Decline},
		"another type":        {Key: "k", Member: "ann", Type: events.ForMembership, Amount: payment.MembershipPrice, Card: boxtest.Approve},
		"another member":      request(bobs, "k"),
	} {
		if _, err := b.Payments.Start(t.Context(), req); !errors.Is(err, payment.ErrKeyReused) {
			t.Errorf("%s under the key: %v", name, err)
		}
	}
	assert.Equal(t, "1", b.Query(t, `SELECT COUNT(*) FROM payments`), "payments")
	// A card's number may be written in groups.
	if p, err := b.Payments.Start(t.Context(), payment.Request{Key: "g", Member: "ann", Type: events.ForReservation, ReservationID: other.ID, Amount: other.Amount, Card: "4242 4242-4242 4242"}); err != nil || p.CardLast4 != "4242" {
		t.Errorf("groups: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	b := boxtest.New(t)
	r := b.Reserve(t, "ann", "A-1")
	start := func(req payment.Request) error { _, err := b.Payments.Start(t.Context(), req); return err }

	bad := request(r, "amount")
	bad.Amount--
	var amount *payment.AmountError
	if err := start(bad); !errors.As(err, &amount) || amount.Expected != r.Amount || amount.Got != r.Amount-1 {
		t.Errorf("amount: %v", err)
	}
	bad = request(r, "member")
	bad.Member = "bob"
	assert.ErrorIs(t, start(bad), booking.ErrNotFound, "somebody else's")
	bad = request(r, "unknown")
	bad.ReservationID = "nothing"
	assert.ErrorIs(t, start(bad), booking.ErrNotFound, "unknown")
	for _, card := range []string{"", "4111111111111111", "4242", "x"} {
		bad = request(r, "card")
		bad.Card = card
		assert.ErrorIsf(t, start(bad), payment.ErrUnknownCard, "card %q", card)
	}
	var ended *payment.HoldEndedError
	over := b.Reserve(t, "ann", "A-2")
	b.Expire(t, over.ID)
	if err := start(request(over, "over")); !errors.As(err, &ended) || ended.Status != booking.Pending {
		t.Errorf("a hold that is over: %v", err)
	}
	_, err := b.Booking.Cancel(t.Context(), "ann", r.ID)
	require.NoError(t, err)
	if err := start(request(r, "cancelled")); !errors.As(err, &ended) || ended.Status != booking.Cancelled || ended.Reason != booking.UserRequest {
		t.Errorf("a cancelled reservation: %v", err)
	}
	// None of these has used up its key.
	fine := b.Reserve(t, "ann", "A-3")
	for _, key := range []string{"amount", "member", "unknown", "card", "over", "cancelled"} {
		assert.Equalf(t, "0", b.Query(t, `SELECT COUNT(*) FROM payments WHERE payment_key = $1`, key), "the refused request kept the key %s", key)
	}
	assert.NoError(t, start(request(fine, "amount")))
}

func TestOnePaymentEach(t *testing.T) {
	b := boxtest.New(t)
	r := b.Reserve(t, "ann", "A-1")
	first := b.Pay(t, r, boxtest.Approve)
	var before *payment.PaidBeforeError
	if _, err := b.Payments.Start(t.Context(), request(r, "another")); !errors.As(err, &before) || before.PaymentID != first.ID {
		t.Errorf("while it is under way: %v", err)
	}
	success := b.Paid(t, first)
	if _, err := b.Payments.Start(t.Context(), request(r, "another")); !errors.As(err, &before) {
		t.Errorf("after the success, before it is handled: %v", err)
	}
	b.Deliver(t, success)
	if _, err := b.Payments.Start(t.Context(), request(r, "another")); !errors.As(err, &before) {
		t.Errorf("after the confirmation: %v", err)
	}
	// And in the database itself.
	if _, err := b.Store.DB().Exec(`INSERT INTO payments (payment_id, payment_key, request_hash, member_id, type, reference_id, reservation_id,
			amount, card, card_last4, status, next_attempt_at, created_at)
		SELECT 'p2', 'k2', request_hash, member_id, type, reference_id, reservation_id, amount, card, card_last4, 'PROCESSING', 1, 1 FROM payments`); !b.Store.IsUnique(err) {
		t.Errorf("a second payment of a reservation: %v", err)
	}
}

func TestConcurrentPosts(t *testing.T) {
	b := boxtest.New(t)
	other := boxtest.Open(t, b.URL) // another process
	bank := newBank(t)
	_, stop := execute(t, b, bank.url, nil)
	r := b.Reserve(t, "ann", "A-1")
	ids := make([]string, 40)
	var wg sync.WaitGroup
	for i := range ids {
		box := b
		if i%2 == 1 {
			box = other
		}
		wg.Go(func() {
			p, err := box.Payments.Start(t.Context(), request(r, "same"))
			assert.NoErrorf(t, err, "post %d", i)
			ids[i] = p.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		require.Equalf(t, ids[0], id, "payments %v", ids)
	}
	settled(t, b, ids[0], payment.Success)
	stop()
	if l := bank.ledger(t); l.Charges != 1 || l.Approved != 1 {
		t.Errorf("ledger: %+v", l)
	}
	// With keys of their own, one is accepted.
	r = b.Reserve(t, "ann", "A-2")
	var mu sync.Mutex
	accepted := 0
	for i := range 20 {
		wg.Go(func() {
			_, err := other.Payments.Start(t.Context(), request(r, fmt.Sprint("own-", i)))
			var before *payment.PaidBeforeError
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				accepted++
			} else if !errors.As(err, &before) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, 1, accepted, "payments were accepted")
}

func TestNoCardNumber(t *testing.T) {
	b := boxtest.New(t)
	b.Pay(t, b.Reserve(t, "ann", "A-1"), boxtest.Approve)
	b.Pay(t, b.Reserve(t, "ann", "A-2"), boxtest.Timeout)
	rows, err := b.Store.Reader().Query(`SELECT payment_id || ' ' || payment_key || ' ' || request_hash || ' ' || card || ' ' || card_last4 || ' ' || COALESCE(last_error, '') FROM payments`)
	require.NoError(t, err)
	defer rows.Close()
	n := 0
	for rows.Next() {
		var text string
		require.NoError(t, rows.Scan(&text))
		if strings.Contains(text, boxtest.Approve) || strings.Contains(text, boxtest.Timeout) {
			t.Errorf("a card's number is in %s", text)
		}
		n++
	}
	if err := rows.Err(); err != nil || n != 2 {
		t.Errorf("%d payments, %v", n, err)
	}
}

func TestGet(t *testing.T) {
	b := boxtest.New(t)
	p := b.Pay(t, b.Reserve(t, "ann", "A-1"), boxtest.Approve)
	if _, err := b.Payments.Get(t.Context(), "bob", p.ID); !errors.Is(err, payment.ErrNotFound) {
		t.Errorf("somebody else's: %v", err)
	}
	if _, err := b.Payments.Get(t.Context(), "ann", "nothing"); !errors.Is(err, payment.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
}
