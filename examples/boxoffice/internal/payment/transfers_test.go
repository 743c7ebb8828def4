package payment_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
)

func ofType(all []event.Event, typ string) []event.Event {
	return slices.DeleteFunc(all, func(e event.Event) bool { return e.Type != typ })
}

// told are the notices about transfers, such as "bob OFFERED".
func told(t *testing.T, all []event.Event) string {
	t.Helper()
	var out []string
	for _, e := range ofType(slices.Clone(all), events.TransferNotice) {
		var n events.Noticed
		if err := e.UnmarshalData(&n); err != nil || e.Key() != n.MemberID || !strings.Contains(n.Message, "A-1") {
			t.Errorf("notice %s: %v", e.Data, err)
		}
		out = append(out, n.MemberID+" "+n.Params.Outcome)
	}
	return strings.Join(out, ", ")
}

// offer is a ticket of ann's that she offers to bob.
func offer(t *testing.T, b *boxtest.Box) (booking.Reservation, payment.Payment) {
	t.Helper()
	r, _ := ticket(t, b, "ann", "A-1")
	p, err := b.Payments.Start(t.Context(), transfer(r, "t", "bob"))
	if err != nil || p.Status != payment.Processing {
		t.Fatalf("%+v, %v", p, err)
	}
	return r, p
}

func transferNow(t *testing.T, b *boxtest.Box) string {
	t.Helper()
	return b.Query(t, `SELECT t.status || ' ' || COALESCE(t.reason, '') || ' ' || p.status || ' ' || COALESCE(p.failure_reason, '')
		FROM transfers t JOIN payments p ON p.payment_id = t.payment_id ORDER BY t.created_at DESC LIMIT 1`)
}

// Nothing is charged or transferred before the receiver agrees.
func TestConsent(t *testing.T) {
	b, bank := boxtest.New(t), newBank(t)
	r, p := offer(t, b)
	assert.Equal(t, "bob OFFERED", told(t, b.Outbox.Take()), "told")
	execute(t, b, bank.url, nil)
	other := b.Pay(t, b.Reserve(t, "cid", "B-1"), boxtest.Approve) // due payments are carried out
	settled(t, b, other.ID, payment.Success)
	require.EqualValues(t, 1, bank.ledger(t).Charges, "charges before the consent")
	for _, member := range []string{"ann", "cid"} {
		if _, err := b.Payments.Accept(t.Context(), member, p.ReferenceID); !errors.Is(err, payment.ErrNoTransfer) {
			t.Errorf("%s accepts: %v", member, err)
		}
	}
	b.Outbox.Take()
	for range 2 { // the answer may be lost
		if x, err := b.Payments.Accept(t.Context(), "bob", p.ReferenceID); err != nil || x.Status != payment.Accepted || x.AcceptedAt.IsZero() {
			t.Errorf("%+v, %v", x, err)
		}
	}
	settled(t, b, p.ID, payment.Success)
	all := b.Outbox.Take()
	assert.Equal(t, "ann ACCEPTED", told(t, all), "told")
	b.Must(t, events.GroupTickets, ofType(all, events.PaymentSuccess)[0], "transferred")
	assert.Equal(t, "ann COMPLETED, bob COMPLETED", told(t, b.Outbox.Take()), "told")
	assert.Equal(t, "bob 2", b.Query(t, `SELECT member_id || ' ' || generation FROM reservations WHERE reservation_id = $1`, r.ID))
	for _, member := range []string{"ann", "bob"} {
		list, err := b.Payments.Transfers(t.Context(), member)
		if err != nil || len(list) != 1 || list[0].Status != payment.Completed || list[0].ShowID != "show-1" || !slices.Equal(list[0].SeatIDs, []string{"A-1"}) || list[0].SettledAt.IsZero() {
			t.Errorf("%s: %+v, %v", member, list, err)
		}
	}
	if x, err := b.Payments.Accept(t.Context(), "bob", p.ReferenceID); err != nil || x.Status != payment.Completed {
		t.Errorf("accepted once more: %+v, %v", x, err)
	}
	var decided *payment.DecidedError
	if _, err := b.Payments.Withdraw(t.Context(), "ann", p.ReferenceID); !errors.As(err, &decided) || decided.Status != payment.Completed {
		t.Errorf("too late: %v", err)
	}
}

// A payment that was approved without consent moves no ticket.
func TestNoConsentNoTicket(t *testing.T) {
	b := boxtest.New(t)
	r, p := offer(t, b)
	b.Must(t, events.GroupTickets, b.Paid(t, p), "late")
	assert.Equal(t, "ann REQUESTED LATE", b.Query(t, `SELECT member_id FROM reservations WHERE reservation_id = $1`, r.ID)+" "+b.Refund(t, p))
}

func TestDeclineAndWithdraw(t *testing.T) {
	for want, c := range map[string]struct {
		end         func(*payment.Payments, string, string) (payment.Transfer, error)
		who, others string
		told        string
	}{
		payment.Declined: {func(p *payment.Payments, m, id string) (payment.Transfer, error) {
			return p.Decline(t.Context(), m, id)
		},
			"bob", "ann", "ann DECLINED"},
		payment.Withdrawn: {func(p *payment.Payments, m, id string) (payment.Transfer, error) {
			return p.Withdraw(t.Context(), m, id)
		},
			"ann", "bob", "bob WITHDRAWN"},
	} {
		t.Run(want, func(t *testing.T) {
			b := boxtest.New(t)
			r, p := offer(t, b)
			b.Outbox.Take()
			if _, err := c.end(b.Payments, c.others, p.ReferenceID); !errors.Is(err, payment.ErrNoTransfer) {
				t.Errorf("by %s: %v", c.others, err)
			}
			if _, err := c.end(b.Payments, c.who, "nothing"); !errors.Is(err, payment.ErrNoTransfer) {
				t.Errorf("of nothing: %v", err)
			}
			for range 2 {
				if x, err := c.end(b.Payments, c.who, p.ReferenceID); err != nil || x.Status != payment.Cancelled || x.Reason != want {
					t.Errorf("%+v, %v", x, err)
				}
			}
			all := b.Outbox.Take()
			assert.Equal(t, c.told, told(t, all), "told")
			assert.Equal(t, "CANCELLED "+want+" FAILED OFFER_"+want, transferNow(t, b))
			b.Deliver(t, all...)
			var decided *payment.DecidedError
			if _, err := b.Payments.Accept(t.Context(), "bob", p.ReferenceID); !errors.As(err, &decided) || decided.Reason != want {
				t.Errorf("accepted after that: %v", err)
			}
			if s, err := b.Stats.All(t.Context()); err != nil || s["transfers_cancelled"] != 1 {
				t.Errorf("statistics: %v, %v", s, err)
			}
			// The ticket can be offered again.
			_, err := b.Payments.Start(t.Context(), transfer(r, "t2", "cid"))
			assert.NoError(t, err)
		})
	}
}

func TestOfferExpires(t *testing.T) {
	b, bank := boxtest.New(t), newBank(t)
	_, p := offer(t, b)
	b.Outbox.Take()
	b.Exec(t, `UPDATE transfers SET expires_at = 1`)
	var decided *payment.DecidedError
	if _, err := b.Payments.Accept(t.Context(), "bob", p.ReferenceID); !errors.As(err, &decided) || decided.Reason != payment.Expired {
		t.Errorf("too late: %v", err)
	}
	b.Exec(t, `UPDATE payments SET next_attempt_at = 1 WHERE payment_id = $1`, p.ID)
	execute(t, b, bank.url, nil)
	settled(t, b, p.ID, payment.Failed)
	assert.Equal(t, "CANCELLED EXPIRED FAILED OFFER_EXPIRED", transferNow(t, b))
	assert.Equal(t, "ann EXPIRED, bob EXPIRED", told(t, b.Outbox.Take()), "told")
	assert.EqualValues(t, 0, bank.ledger(t).Charges, "charges")
}

// Of accepting, declining, withdrawing and expiring at once, one happens.
func TestOneDecision(t *testing.T) {
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			b, bank := boxtest.New(t), newBank(t)
			_, p := offer(t, b)
			b.Outbox.Take()
			if i%2 == 1 { // its time is over as well, in a moment
				b.Exec(t, `UPDATE transfers SET expires_at = now_ms() + 2`)
				b.Exec(t, `UPDATE payments SET next_attempt_at = (SELECT expires_at FROM transfers t WHERE t.payment_id = payments.payment_id) WHERE payment_id = $1`, p.ID)
			}
			execute(t, b, bank.url, nil)
			var wg sync.WaitGroup
			var mu sync.Mutex
			var done []string
			for _, move := range []func() (payment.Transfer, error){
				func() (payment.Transfer, error) { return b.Payments.Accept(t.Context(), "bob", p.ReferenceID) },
				func() (payment.Transfer, error) { return b.Payments.Decline(t.Context(), "bob", p.ReferenceID) },
				func() (payment.Transfer, error) { return b.Payments.Withdraw(t.Context(), "ann", p.ReferenceID) },
			} {
				wg.Go(func() {
					x, err := move()
					var decided *payment.DecidedError
					if err != nil && !errors.As(err, &decided) {
						t.Error(err)
					}
					if err == nil {
						mu.Lock()
						done = append(done, x.Status+" "+x.Reason)
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			boxtest.WaitFor(t, "the payment to be settled", func() bool {
				return b.Query(t, `SELECT status FROM payments WHERE payment_id = $1`, p.ID) != payment.Processing
			})
			accepted := slices.Contains(done, "ACCEPTED ")
			if len(done) > 1 || len(done) == 0 && i%2 == 0 {
				t.Errorf("decided %d times: %v", len(done), done)
			}
			want, charges := payment.Failed, int64(0)
			if accepted {
				want, charges = payment.Success, 1
			}
			if got := b.Query(t, `SELECT status FROM payments WHERE payment_id = $1`, p.ID); got != want {
				t.Errorf("%v, and the payment is %s", done, got)
			}
			if l := bank.ledger(t); l.Charges != charges {
				t.Errorf("%v, and %d charges", done, l.Charges)
			}
		})
	}
}

// The ticket is given back while it is on offer: accepting ends the offer, and costs
// nothing.
func TestAcceptTooLate(t *testing.T) {
	b := boxtest.New(t)
	r, p := offer(t, b)
	b.Outbox.Take()
	_, err := b.Booking.Cancel(t.Context(), "ann", r.ID)
	require.NoError(t, err)
	if _, err := b.Payments.Accept(t.Context(), "bob", p.ReferenceID); !errors.Is(err, payment.ErrRefunding) {
		t.Errorf("%v", err)
	}
	assert.Equal(t, "CANCELLED LATE FAILED OFFER_LATE", transferNow(t, b))
	assert.Equal(t, "ann FAILED, bob FAILED", told(t, b.Outbox.Take()), "told")
}

func TestAcceptAfterRefund(t *testing.T) {
	b := boxtest.New(t)
	r, p := offer(t, b)
	paid, err := b.Payments.Get(t.Context(), "ann", b.Query(t, `SELECT payment_id FROM reservations WHERE reservation_id = $1`, r.ID))
	require.NoError(t, err)
	_, err = b.Payments.Refund(t.Context(), "ann", paid.ID)
	require.NoError(t, err)
	b.Deliver(t, b.PaidBack(t, paid))
	var not *payment.NotConfirmedError
	if _, err := b.Payments.Accept(t.Context(), "bob", p.ReferenceID); !errors.As(err, &not) || not.Status != booking.Cancelled {
		t.Errorf("%v", err)
	}
	assert.Equal(t, "CANCELLED LATE FAILED OFFER_LATE", transferNow(t, b))
}

func TestMemberships(t *testing.T) {
	b := boxtest.New(t)
	p, err := b.Payments.Start(t.Context(), payment.Request{Key: "m", Member: "ann", Type: events.ForMembership, Amount: payment.MembershipPrice, Card: boxtest.Approve})
	require.NoError(t, err)
	isMember := func(member string, want bool) {
		t.Helper()
		if is, err := b.Payments.IsMember(t.Context(), member); err != nil || is != want {
			t.Errorf("%s is a member: %t, %v", member, is, err)
		}
	}
	isMember("ann", false)
	if list, err := b.Payments.Memberships(t.Context(), "ann"); err != nil || len(list) != 1 || list[0].Status != "PENDING" || !list[0].ExpiresAt.IsZero() {
		t.Errorf("%+v, %v", list, err)
	}
	b.Deliver(t, b.Paid(t, p))
	list, err := b.Payments.Memberships(t.Context(), "ann")
	if err != nil || len(list) != 1 || list[0].Status != "ACTIVE" || list[0].PaymentID != p.ID || list[0].ExpiresAt.Sub(list[0].ActivatedAt).Hours() != 365*24 {
		t.Errorf("%+v, %v", list, err)
	}
	isMember("ann", true)
	isMember("bob", false)
	if list, err := b.Payments.Memberships(t.Context(), "bob"); err != nil || len(list) != 0 {
		t.Errorf("bob: %+v, %v", list, err)
	}
}
