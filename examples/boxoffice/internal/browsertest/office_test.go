package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
)

// TestOfficeBooks goes the whole way: from the list of shows to a paid ticket,
// and back to a refund.
func TestOfficeBooks(t *testing.T) {
	o := startOffice(t)
	tb := open(t, o.url(), desktop())
	tb.Expect("status of 401") // a visitor without a sign-in in the waiting room
	tb.visit("/")
	tb.until("document.querySelectorAll('.show').length === 5")
	tb.click("a[href='/shows/show-1']")
	tb.at("/shows/show-1")
	tb.click("#get-seats")
	tb.until(visible("#signin"))
	tb.click("#signin")
	tb.at("/login")
	tb.fill("main input", "mina")
	tb.click("main [type=submit]")
	tb.at("/events/show-1")
	tb.click("[data-seat='C-12']")
	tb.click("[data-seat='C-13']")
	tb.until("document.querySelector('#total').textContent === '₩300,000'")
	tb.click("#hold")
	tb.at("/checkout/")
	tb.until(view("pay") + " && document.querySelector('#amount').textContent === '₩300,000'")
	tb.click("#pay-go")
	tb.until(view("done"))
	tb.sheet("office-booked")
	tb.click("[data-for=done] a[href='/tickets']")
	tb.until("document.querySelector('.ticket.confirmed .states')?.textContent === 'BookedPaid'")
	tb.sheet("office-tickets")

	watcher := open(t, o.url(), phone())
	watcher.signIn("jun")
	watcher.visit("/queue?event=show-1")
	watcher.until(seat("C-12") + " === 'sold' && " + seat("C-13") + " === 'sold' && " + seat("C-14") + " === 'available'")
	watcher.click("[data-seat='C-12']") // sold: nothing happens
	assert.Equal(t, 0, eval[int](watcher, "document.querySelectorAll('#basket li').length"), "a sold seat was chosen")

	tb.click(".ticket.confirmed .actions button")
	tb.until(visible("#confirm"))
	tb.press(kb.Escape)
	tb.until("!(" + visible("#confirm") + ") && " + visible(".ticket.confirmed"))
	tb.click(".ticket.confirmed .actions button")
	tb.click("#confirm-yes")
	tb.until(visible(".ticket.cancelled") + " && document.querySelector('.ticket.cancelled .states').textContent.includes('Money returned')")
	watcher.until(seat("C-12") + " === 'available' && " + seat("C-13") + " === 'available'")
}

// TestOfficeDeclines pays with the card that the bank refuses.
func TestOfficeDeclines(t *testing.T) {
	o := startOffice(t)
	tb := open(t, o.url(), phone())
	tb.signIn("mina")
	tb.book("show-2", 3)
	tb.click(".card.decline input")
	tb.until("document.querySelector('#card').value === '4000 0000 0000 0002'")
	tb.click("#pay-go")
	tb.until(view("failed") + " && document.querySelector('#failed-reason').textContent.includes('declined')")
	tb.sheet("office-declined")
	tb.click("[data-for=failed] [data-seats]")
	tb.at("/events/show-2")
	tb.until("document.querySelectorAll('[data-state=available][data-seat]').length === 500")
	tb.visit("/tickets")
	tb.until("document.querySelector('.ticket.cancelled .states')?.textContent === 'Payment failedNot charged'")
}

// TestOfficeCancels gives held seats back at the checkout, and later others
// from the list of tickets.
func TestOfficeCancels(t *testing.T) {
	o := startOffice(t)
	tb := open(t, o.url(), desktop())
	tb.signIn("mina")
	tb.book("show-3", 2)
	tb.click("[data-cancel]")
	tb.click("#confirm-no")
	tb.until(view("pay"))
	tb.click("[data-cancel]")
	tb.click("#confirm-yes")
	tb.until(view("cancelled"))
	tb.book("show-3", 1)
	tb.visit("/tickets")
	tb.until("document.querySelectorAll('.ticket').length === 2 && " + visible(".ticket.pending"))
	tb.click(".ticket.pending button")
	tb.click("#confirm-yes")
	tb.until("document.querySelectorAll('.ticket.cancelled').length === 2")
	assert.Equal(t, "You gave it back", eval[string](tb, "document.querySelector('.ticket.cancelled .states').textContent"), "the ticket")
}

// TestOfficeLanguage books in Korean after switching, and meets an error in
// Korean.
func TestOfficeLanguage(t *testing.T) {
	o := startOffice(t)
	d := phone()
	d.lang = "en-GB"
	tb := open(t, o.url(), d)
	tb.Expect("status of 409")
	tb.visit("/shows/show-5")
	assert.Equal(t, "en", eval[string](tb, "document.documentElement.lang"), "a browser that wants British English gets")
	tb.click(".lang")
	tb.until("document.documentElement.lang === 'ko' && document.querySelector('#get-seats').textContent === '좌석 고르기'")
	tb.signIn("mina")
	tb.book("show-5", 2)
	tb.until("document.querySelector('#pay-go').textContent === '240,000원 결제하기'")
	tb.click("#pay-go")
	tb.until(view("done") + " && document.querySelector('[data-for=done] h1').textContent === '이제 당신의 자리예요'")
	tb.sheet("office-korean")
	tb.visit("/tickets")
	tb.until("document.querySelector('.ticket.confirmed .states')?.textContent === '예매 완료결제 완료'")

	rival := open(t, o.url(), desktop())
	rival.signIn("jun")
	tb.visit("/queue?event=show-5")
	tb.at("/events/")
	tb.click("[data-seat='A-13']")
	rival.visit("/queue?event=show-5")
	rival.at("/events/")
	rival.click("[data-seat='A-13']")
	rival.click("#hold")
	rival.at("/checkout/")
	// Either the plan or the refused hold shows that the seat is taken.
	tb.until("document.querySelector('#hold').disabled || (document.querySelector('#hold').click(), true)")
	tb.until(visible("#problem"))
	if text := eval[string](tb, "document.querySelector('#problem').textContent"); !strings.Contains(text, "A-13") || !strings.ContainsAny(text, "가요잡늦") {
		t.Errorf("about the seat that has gone the page says %q", text)
	}
}

// TestOfficeSurvivesKill kills the box office with signal 9 while the bank decides,
// reloads the page while there is no server, and starts it again on the same data.
func TestOfficeSurvivesKill(t *testing.T) {
	o := startOffice(t)
	tb := open(t, o.url(), desktop())
	tb.Expect("ERR_")
	tb.signIn("mina")
	tb.worker()
	tb.book("show-1", 2)
	tb.click(".card.slow input")
	tb.click("#pay-go")
	tb.until(accepted)
	o.process.Kill()
	tb.until(visible("#banner"))
	tb.shot("office-killed")
	_ = chromedp.Do(tb.ctx, chromedp.Reload()) // the navigation counts as failed when it is the worker that answers
	tb.until(visible("#offline"))
	tb.shot("office-killed-reloaded")
	o.start()
	tb.until(view("processing") + " || " + view("done"))
	tb.until(view("done"))

	tb.visit("/ops")
	tb.fill("#token", o.Admin)
	tb.press(kb.Enter)
	tb.until(visible("#board") + " && document.querySelector('#verdict').dataset.ok === 'yes' && document.querySelectorAll('#consumers tr').length > 5")
	tb.until("document.querySelector('#backlog').textContent === '0'")
	sound(tb, "operator page")
	tb.sheet("office-ops")
	if charged := eval[string](tb, "[...document.querySelectorAll('#gateway div')].map(e => e.innerText.replace(/\\s+/g, '=')).join(' ')"); !strings.Contains(charged, "ledger.") {
		t.Errorf("the operator page shows nothing of the gateway's ledger: %s", charged)
	}
}
