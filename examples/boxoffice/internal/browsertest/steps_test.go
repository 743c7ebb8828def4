package browsertest

import (
	"fmt"
)

func view(name string) string {
	return fmt.Sprintf("document.querySelector('#checkout')?.dataset.view === %q", name)
}

// accepted is true once the server has answered that it has the payment. The
// page shows "processing" before that.
var accepted = view("processing") + " && Object.values(sessionStorage).some(v => v.includes('paymentId'))"

// book goes from the seat plan to the checkout with n seats that the house
// picks.
func (tb *tab) book(event string, n int) {
	tb.Helper()
	tb.visit("/queue?event=" + event)
	tb.at("/events/")
	tb.until("document.querySelector('#pick-go') && !document.querySelector('#pick-go').disabled")
	for tb.count() > n {
		tb.click("[data-step='-1']")
	}
	for tb.count() < n {
		tb.click("[data-step='1']")
	}
	tb.click("#pick-go")
	tb.until(fmt.Sprintf("document.querySelectorAll('#basket li').length === %d", n))
	tb.click("#hold")
	tb.at("/checkout/")
	tb.until(view("pay"))
}

func (tb *tab) count() int {
	return eval[int](tb, "Number(document.querySelector('#pick-count').textContent)")
}

// seat is an expression: the state of a seat in the plan on the page.
func seat(id string) string {
	return fmt.Sprintf("document.querySelector(\"[data-seat='%s']\")?.dataset.state", id)
}

// worker waits until the service worker answers for the next navigation. It
// need not control the page at hand, which may have been loaded before it.
func (tb *tab) worker() {
	tb.Helper()
	eval[bool](tb, "(navigator.serviceWorker.ready.then(() => { globalThis.workerReady = true }), true)")
	tb.until("globalThis.workerReady")
}
