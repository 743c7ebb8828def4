package ticket_test

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
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ticket"
)

func rectangle(t *testing.T, part string) (x, y, n int) {
	t.Helper()
	var back int
	if _, err := fmt.Sscanf(part, "M%d %dh%dv1h-%d", &x, &y, &n, &back); err != nil || n != back {
		t.Fatalf("%q is no row of modules: %v", part, err)
	}
	return x, y, n
}

// house is a box office with a door, and ann's confirmed tickets.
func house(t *testing.T, seats ...string) (*boxtest.Box, *ticket.Door, booking.Reservation, payment.Payment) {
	t.Helper()
	b := boxtest.New(t)
	r := b.Reserve(t, "ann", seats...)
	p := b.Pay(t, r, boxtest.Approve)
	b.Deliver(t, b.Paid(t, p))
	return b, b.Door, r, p
}

func issue(t *testing.T, d *ticket.Door, member, reservation string) []ticket.Issued {
	t.Helper()
	list, err := d.Issue(t.Context(), member, reservation)
	require.NoError(t, err)
	return list
}

func scan(t *testing.T, d *ticket.Door, code, show string, want ticket.Status) ticket.Scan {
	t.Helper()
	got, err := d.Scan(t.Context(), code, show, "")
	if err != nil || got.Status != want {
		t.Fatalf("%+v, %v, want %s", got, err, want)
	}
	return got
}

func transfer(t *testing.T, b *boxtest.Box, r booking.Reservation, from, to string) payment.Payment {
	t.Helper()
	p, err := b.Payments.Start(t.Context(), payment.Request{Key: "t-" + to, Member: from, Type: events.ForTransfer, ReservationID: r.ID, ToMember: to, Amount: r.Amount, Card: boxtest.Approve})
	require.NoError(t, err)
	return p
}

func TestIssue(t *testing.T) {
	b, d, r, _ := house(t, "A-1", "A-2")
	list := issue(t, d, "ann", r.ID)
	if len(list) != 2 || list[0].SeatID != "A-1" || list[1].SeatID != "A-2" || list[0].Code == list[1].Code || list[0].Picture.Size == 0 || !list[0].UsedAt.IsZero() {
		t.Errorf("%+v", list)
	}
	if got, err := ticket.Verify(d.Keys(), list[1].Code); err != nil || got != list[1].Ticket || got.ID != r.ID+".A-2" || got.ShowID != "show-1" || got.Generation != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	for member, id := range map[string]string{"bob": r.ID, "ann": "nothing"} {
		if _, err := d.Issue(t.Context(), member, id); !errors.Is(err, ticket.ErrNotFound) {
			t.Errorf("%s of %s: %v", id, member, err)
		}
	}
	var not *ticket.NotConfirmedError
	if _, err := d.Issue(t.Context(), "ann", b.Reserve(t, "ann", "B-1").ID); !errors.As(err, &not) || not.Status != booking.Pending {
		t.Errorf("a hold: %v", err)
	}
	scan(t, d, list[0].Code, "show-1", ticket.Valid)
	if list = issue(t, d, "ann", r.ID); list[0].UsedAt.IsZero() || !list[1].UsedAt.IsZero() {
		t.Errorf("used: %v, %v", list[0].UsedAt, list[1].UsedAt)
	}
}

func TestScan(t *testing.T) {
	b, d, r, p := house(t, "A-1", "A-2")
	list := issue(t, d, "ann", r.ID)
	scan(t, d, list[0].Code, "show-2", ticket.OtherShow)
	first := scan(t, d, list[0].Code, "show-1", ticket.Valid)
	if first.UsedAt.IsZero() || first.SeatID != "A-1" {
		t.Errorf("%+v", first)
	}
	if again := scan(t, d, list[0].Code, "show-1", ticket.Used); !again.UsedAt.Equal(first.UsedAt) {
		t.Errorf("used at %v and %v", first.UsedAt, again.UsedAt)
	}
	scan(t, d, list[1].Code, "show-1", ticket.Valid) // the other seat
	if _, err := d.Scan(t.Context(), "x", "show-1", ""); !errors.Is(err, ticket.ErrMalformed) {
		t.Errorf("no code: %v", err)
	}
	lost := sign(t, keys(t, boxtest.TicketKeys), seat)
	if _, err := d.Scan(t.Context(), lost, "show-1", ""); !errors.Is(err, ticket.ErrUnknownTicket) {
		t.Errorf("no such reservation: %v", err)
	}

	t.Run("transferred", func(t *testing.T) {
		r := b.Reserve(t, "ann", "B-1")
		b.Deliver(t, b.Paid(t, b.Pay(t, r, boxtest.Approve)))
		old := issue(t, d, "ann", r.ID)[0].Code
		x := transfer(t, b, r, "ann", "bob")
		_, err := b.Payments.Accept(t.Context(), "bob", x.ReferenceID)
		require.NoError(t, err)
		b.Deliver(t, b.Paid(t, x))
		scan(t, d, old, "show-1", ticket.Transferred)
		if _, err := d.Issue(t.Context(), "ann", r.ID); !errors.Is(err, ticket.ErrNotFound) {
			t.Errorf("ann gets a code: %v", err)
		}
		scan(t, d, issue(t, d, "bob", r.ID)[0].Code, "show-1", ticket.Valid)
		scan(t, d, old, "show-1", ticket.Transferred)
	})
	t.Run("refunded", func(t *testing.T) {
		r := b.Reserve(t, "ann", "C-1")
		paid := b.Pay(t, r, boxtest.Approve)
		b.Deliver(t, b.Paid(t, paid))
		code := issue(t, d, "ann", r.ID)[0].Code
		_, err := b.Payments.Refund(t.Context(), "ann", paid.ID)
		require.NoError(t, err)
		scan(t, d, code, "show-1", ticket.Refunded) // its money is on its way
		b.Deliver(t, b.PaidBack(t, paid))
		scan(t, d, code, "show-1", ticket.Refunded)
	})
	_ = p
}

func TestRepeatedScan(t *testing.T) {
	_, d, r, _ := house(t, "A-1")
	code := issue(t, d, "ann", r.ID)[0].Code
	var got []string
	for _, key := range []string{"a", "a", "b", "a", ""} {
		x, err := d.Scan(t.Context(), code, "show-1", key)
		require.NoError(t, err)
		got = append(got, string(x.Status))
	}
	assert.Equal(t, "VALID VALID USED VALID USED", strings.Join(got, " "))
}

// Two doors, each with a connection of its own, and a crowd with copies of one code.
func TestOneScanIsValid(t *testing.T) {
	b, d, r, _ := house(t, "A-1")
	code := issue(t, d, "ann", r.ID)[0].Code
	other := boxtest.Open(t, b.URL).Door
	var wg sync.WaitGroup
	var mu sync.Mutex
	count := map[ticket.Status]int{}
	for i := range 20 {
		wg.Go(func() {
			at := d
			if i%2 == 1 {
				at = other
			}
			got, err := at.Scan(t.Context(), code, "show-1", fmt.Sprint(i))
			assert.NoError(t, err)
			mu.Lock()
			count[got.Status]++
			mu.Unlock()
		})
	}
	wg.Wait()
	if count[ticket.Valid] != 1 || count[ticket.Used] != 19 {
		t.Errorf("%v", count)
	}
}

func TestUsedTicketStays(t *testing.T) {
	b, d, r, p := house(t, "A-1", "A-2")
	accepted := transfer(t, b, r, "ann", "bob")
	_, err := b.Payments.Accept(t.Context(), "bob", accepted.ReferenceID)
	require.NoError(t, err)
	scan(t, d, issue(t, d, "ann", r.ID)[0].Code, "show-1", ticket.Valid)
	if _, err := b.Booking.Cancel(t.Context(), "ann", r.ID); !errors.Is(err, booking.ErrUsed) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := b.Payments.Refund(t.Context(), "ann", p.ID); !errors.Is(err, booking.ErrUsed) {
		t.Errorf("refunded: %v", err)
	}
	b.Must(t, events.GroupTickets, b.Paid(t, accepted), "late") // its transfer was under way
	_, err = d.Issue(t.Context(), "ann", r.ID)
	assert.NoError(t, err, "ann lost it")
	_, err = b.Payments.Start(t.Context(), payment.Request{Key: "again", Member: "ann", Type: events.ForTransfer, ReservationID: r.ID, ToMember: "cid", Amount: r.Amount, Card: boxtest.Approve})
	assert.ErrorIs(t, err, booking.ErrUsed, "offered")
}

func TestScanAgainstRefund(t *testing.T) {
	for i := range 10 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			b, d, r, p := house(t, "A-1")
			code := issue(t, d, "ann", r.ID)[0].Code
			var wg sync.WaitGroup
			var found ticket.Scan
			var scanErr, refundErr error
			start := make(chan struct{})
			wg.Go(func() { <-start; found, scanErr = d.Scan(t.Context(), code, "show-1", "") })
			wg.Go(func() { <-start; _, refundErr = b.Payments.Refund(t.Context(), "ann", p.ID) })
			close(start)
			wg.Wait()
			if scanErr != nil || refundErr != nil && !errors.Is(refundErr, booking.ErrUsed) {
				t.Fatalf("%v, %v", scanErr, refundErr)
			}
			if in, back := found.Status == ticket.Valid, refundErr == nil; in == back {
				t.Errorf("the scan finds %s, the refund %v", found.Status, refundErr)
			}
		})
	}
}
