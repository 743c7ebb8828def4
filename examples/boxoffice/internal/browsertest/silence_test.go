package browsertest

import (
	"errors"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
)

// TestPagesPaymentSurvivesSilence makes the server take a payment and lose the
// answer. The page says so, repeats the payment under its key until there is an
// answer, and shows the outcome of the one payment.
func TestPagesPaymentSurvivesSilence(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), desktop())
	tb.Expect("ERR_", "status of 503")
	tb.signIn("mina")
	tb.book("show-1", 2)
	f.lose("/api/payments")
	tb.click("#pay-go")
	tb.until(visible("#banner") + " && document.querySelector('#banner').textContent.includes('answering')")
	assert.Equal(t, "processing", eval[string](tb, "document.querySelector('#checkout').dataset.view"), "while nobody answers the page shows")
	tb.shot("offline-banner")
	f.lose("")
	tb.until(view("done"))
	tb.until("!(" + visible("#banner") + ")")
	// The page may learn the outcome of the payment from its look at the reservation.
	boxtest.WaitFor(t, "the payment to be repeated", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.keysSeen) > 1
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	assert.Len(t, f.payments, 1, "payments were made")
	for _, key := range f.keysSeen {
		if key != f.keysSeen[0] {
			t.Errorf("the payment was repeated under another key: %v", f.keysSeen)
		}
	}
}

// TestPagesReloadRepeatsPayment reloads the page whose payment got no answer.
func TestPagesReloadRepeatsPayment(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), desktop())
	tb.Expect("ERR_", "status of 503")
	tb.signIn("mina")
	tb.book("show-1", 1)
	f.lose("/api/payments")
	tb.click("#pay-go")
	tb.until(visible("#banner"))
	f.lose("")
	tb.run(chromedp.Reload())
	tb.until(view("done"))
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.payments) != 1 || len(f.keysSeen) == 0 {
		t.Errorf("%d payments from %d requests, want 1 payment", len(f.payments), len(f.keysSeen))
	}
}

// TestPagesWaitForServer loads a page while there is no server at all.
func TestPagesWaitForServer(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), phone())
	tb.Expect("ERR_")
	tb.visit("/?lang=ko")
	tb.worker()
	tb.visit("/shows/show-1")
	f.stop()
	_ = chromedp.Do(tb.ctx, chromedp.Navigate(tb.base+"/tickets")) // the navigation counts as failed when it is the worker that answers
	tb.until(visible("#offline"))
	if got := eval[string](tb, "document.documentElement.lang + location.pathname"); got != "ko/tickets" {
		t.Errorf("the waiting page is %q, want it in Korean under the wanted address", got)
	}
	sound(tb, "waiting page")
	tb.shot("waiting-page")
	f.start(t, f.address)
	tb.until(visible("#signed-out") + " && !document.querySelector('#offline')")
}

// TestPagesHoldLost loses the answer of a hold that was made: the page finds
// it and goes on to the payment, instead of being refused by its own hold.
func TestPagesHoldLost(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), desktop())
	tb.Expect("ERR_", "status of 503")
	tb.signIn("mina")
	tb.visit("/queue?event=show-2")
	tb.at("/events/")
	tb.click("#pick-go")
	f.lose("/api/seats/reserve")
	tb.click("#hold")
	tb.until(visible("#banner"))
	f.lose("")
	tb.at("/checkout/")
	tb.until(view("pay"))
	f.mu.Lock()
	defer f.mu.Unlock()
	assert.Len(t, f.reservations, 1, "reservations were made")
}

// TestPagesUnavailable reloads by itself when the backend is back.
func TestPagesUnavailable(t *testing.T) {
	f := startFake(t)
	f.broken = errors.New("away")
	tb := open(t, f.url(), phone())
	tb.Expect("status of 503")
	tb.visit("/")
	tb.until("document.querySelector('[data-status=\"503\"]')")
	f.mu.Lock()
	f.broken = nil
	f.mu.Unlock()
	tb.until("document.querySelectorAll('.show').length === 5")
}
