package app

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
)

func TestJourneys(t *testing.T) {
	t.Parallel()
	// Steps that precede the gateway's late answer have ample time.
	slow := quick()
	slow.SettleAfter = 10 * time.Second
	p := startWith(t, slow, "--data-dir", t.TempDir(), "--hold-seconds", "60")
	if out := p.out.String(); !strings.Contains(out, p.app.URL()) || !strings.Contains(out, p.app.AdminToken()) {
		t.Errorf("printed: %s", out)
	}
	var wg sync.WaitGroup
	for name, journey := range map[string]func(f *fan){
		"booked": func(f *fan) {
			held := f.hold("A-1", "A-2")
			payment := f.pay(held, approve)
			f.await(held.ReservationID, payment, "A-2", "CONFIRMED , SUCCESS , SOLD")
		},
		"declined": func(f *fan) {
			held := f.hold("B-1")
			payment := f.pay(held, decline)
			f.await(held.ReservationID, payment, "B-1", "CANCELLED PAYMENT_FAILED, FAILED , AVAILABLE")
			assert.Equal(t, "card_declined", f.payment(payment).FailureReason, "declined because of")
		},
		"timed-out": func(f *fan) {
			held := f.hold("C-1")
			payment := f.pay(held, timeout)
			assert.Equal(t, "PROCESSING", f.payment(payment).Status, "before the gateway knows")
			f.await(held.ReservationID, payment, "C-1", "CONFIRMED , SUCCESS , SOLD")
		},
		"cancelled": func(f *fan) {
			held := f.hold("D-1")
			f.call(http.MethodDelete, "/api/me/tickets/"+held.ReservationID, "", nil, 200, nil)
			f.await(held.ReservationID, "", "D-1", "CANCELLED USER_REQUEST,  , AVAILABLE")
		},
		"refunded": func(f *fan) {
			held := f.hold("E-1")
			payment := f.pay(held, approve)
			f.await(held.ReservationID, payment, "E-1", "CONFIRMED , SUCCESS , SOLD")
			f.call(http.MethodPost, "/api/payments/"+payment+"/refund", "", nil, 202, nil)
			f.await(held.ReservationID, payment, "E-1", "CANCELLED REFUNDED, REFUNDED USER_REQUEST, AVAILABLE")
		},
		"given-back": func(f *fan) {
			held := f.hold("F-1")
			payment := f.pay(held, approve)
			f.await(held.ReservationID, payment, "F-1", "CONFIRMED , SUCCESS , SOLD")
			f.call(http.MethodDelete, "/api/me/tickets/"+held.ReservationID, "", nil, 202, nil)
			f.await(held.ReservationID, payment, "F-1", "CANCELLED REFUNDED, REFUNDED USER_REQUEST, AVAILABLE")
		},
		"late": func(f *fan) {
			held := f.hold("G-1")
			payment := f.pay(held, timeout)
			f.call(http.MethodDelete, "/api/reservations/"+held.ReservationID, "", nil, 200, nil)
			f.await(held.ReservationID, payment, "G-1", "CANCELLED USER_REQUEST, REFUNDED LATE, AVAILABLE")
		},
		"handed-on": func(f *fan) {
			held := f.hold("H-1")
			payment := f.pay(held, approve)
			f.await(held.ReservationID, payment, "H-1", "CONFIRMED , SUCCESS , SOLD")
			old := f.code(held.ReservationID)
			var x paid
			f.call(http.MethodPost, "/api/transfers", "t-"+held.ReservationID, map[string]any{"reservationId": held.ReservationID, "toMemberId": "friend", "amount": held.Amount, "card": approve}, 202, &x)
			friend := p.fan("friend")
			friend.call(http.MethodPost, "/api/transfers/"+x.TransferID+"/accept", "", nil, 200, nil)
			boxtest.WaitFor(t, "the friend's ticket", func() bool {
				var mine struct{ Tickets []ticket }
				friend.call(http.MethodGet, "/api/me/tickets", "", nil, 200, &mine)
				return len(mine.Tickets) == 1 && mine.Tickets[0].Status == "CONFIRMED"
			})
			f.call(http.MethodGet, "/api/reservations/"+held.ReservationID, "", nil, 404, nil)
			theirs := friend.code(held.ReservationID)
			assert.Equal(t, "TRANSFERRED VALID USED", p.scan(old, "1")+" "+p.scan(theirs, "2")+" "+p.scan(theirs, "3"), "at the door")
		},
		"member": func(f *fan) {
			var x paid
			f.call(http.MethodPost, "/api/memberships", "m-1", map[string]any{"amount": 30000, "card": approve}, 202, &x)
			boxtest.WaitFor(t, "the membership's payment", func() bool { return f.payment(x.PaymentID).Status == "SUCCESS" })
		},
	} {
		f := p.fan(name)
		wg.Go(func() { journey(f) })
	}
	wg.Wait()
	p.sound()
	var report struct{ Stats map[string]int64 }
	(&fan{p: p, token: p.app.AdminToken()}).call(http.MethodGet, "/api/admin/ops", "", nil, 200, &report)
	for name, want := range map[string]int64{
		"reservationsCreated": 8, "reservationsConfirmed": 5, "reservationsCancelled": 5, "refundAmount": 150_000 + 120_000 + 120_000,
		"transfersCompleted": 1, "transferAmount": 120_000, "memberships": 1,
	} {
		if got := report.Stats[name]; got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
}

func TestHoldTimeout(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir(), "--hold-seconds", "1")
	f := p.fan("ann")
	began := time.Now()
	held := f.hold("A-1")
	f.await(held.ReservationID, "", "A-1", "CANCELLED HOLD_TIMEOUT,  , AVAILABLE")
	if took := time.Since(began); took < time.Second {
		t.Errorf("the hold lasted %v", took)
	}
	p.sound()
}

// A hold ends while the gateway decides: the payment was accepted in time and
// confirms, although the sweep has run.
func TestHoldEndsBeforeThePayment(t *testing.T) {
	t.Parallel()
	bank := quick()
	bank.SettleAfter = 4 * time.Second // the sweep looks every second
	p := startWith(t, bank, "--data-dir", t.TempDir(), "--hold-seconds", "60")
	f := p.fan("ann")
	paying, unpaid := f.hold("B-1"), f.hold("C-1")
	payment := f.pay(paying, timeout)
	_, err := p.app.office.store.DB().ExecContext(t.Context(), `UPDATE reservations SET hold_expires_at = $1`, time.Now().UnixMilli())
	require.NoError(t, err)
	f.await(unpaid.ReservationID, "", "C-1", "CANCELLED HOLD_TIMEOUT,  , AVAILABLE")
	f.await(paying.ReservationID, payment, "B-1", "CONFIRMED , SUCCESS , SOLD")
	p.sound()
}

// All fans want the same seats.
func TestCrowd(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir())
	var wg sync.WaitGroup
	var mu sync.Mutex
	sold := map[string]int{}
	for i := range 30 {
		f := p.fan(fmt.Sprintf("fan-%d", i))
		wg.Go(func() {
			seat := fmt.Sprintf("A-%d", i%10+1)
			r, err := http.NewRequest(http.MethodPost, p.app.URL()+"/api/seats/reserve", strings.NewReader(`{"eventId":"show-1","seatIds":["`+seat+`"]}`))
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("Authorization", "Bearer "+f.token)
			r.Header.Set("x-queue-entry-token", f.entry)
			res, err := p.http.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			switch res.StatusCode {
			case http.StatusCreated:
				mu.Lock()
				sold[seat]++
				mu.Unlock()
			case http.StatusConflict:
			default:
				t.Errorf("reserve: %s", res.Status)
			}
		})
	}
	wg.Wait()
	for seat, n := range sold {
		assert.Equalf(t, 1, n, "%s went to %d fans", seat, n)
	}
	assert.Len(t, sold, 10, "of 10 seats were held")
	p.sound()
}
