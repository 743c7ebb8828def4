package browsertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
)

// TestPagesTakenSeat: another member takes a seat that is chosen here, first seen in
// the plan and then only when holding.
func TestPagesTakenSeat(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), desktop())
	tb.Expect("status of 409")
	tb.signIn("mina")
	tb.visit("/queue?event=show-2")
	tb.at("/events/")
	tb.click("#pick-go")
	tb.until("document.querySelectorAll('#basket li').length === 2")
	chosen := eval[[]string](tb, "[...document.querySelectorAll('[data-state=chosen][data-seat]')].map(e => e.dataset.seat)")
	eval[bool](tb, `(() => { globalThis.painted = new Set(); new MutationObserver(l => l.forEach(m => painted.add(m.target.dataset.seat))).observe(document.querySelector("#grid"), { subtree: true, attributeFilter: ["data-state"] }); return true })()`)
	f.take("show-2", chosen[0])
	tb.until("document.querySelectorAll('#basket li').length === 1 && " + visible("#problem"))
	if text := eval[string](tb, "document.querySelector('#problem').textContent"); !strings.Contains(text, chosen[0]) {
		t.Errorf("the page says %q about the loss of %s", text, chosen[0])
	}
	if painted := eval[[]string](tb, "[...painted]"); len(painted) != 1 || painted[0] != chosen[0] {
		t.Errorf("repainted were %v, want only %s", painted, chosen[0])
	}
	f.mu.Lock() // the plan that is served next comes after the hold
	eval[bool](tb, "(document.querySelector('#hold').click(), true)")
	f.seatOf("show-2", chosen[1]).Status = "SOLD"
	f.mu.Unlock()
	tb.until(visible("#problem") + " && document.querySelectorAll('#basket li').length === 0")
	assert.Equal(t, "/events/show-2", eval[string](tb, "location.pathname"), "a refused hold leads to")
}

// TestPagesSelection checks the limit, the total, and that a choice outlives
// a change of the language.
func TestPagesSelection(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), desktop())
	tb.signIn("mina")
	tb.visit("/queue?event=show-2")
	tb.at("/events/")
	tb.until("!document.querySelector('#pick-go').disabled")
	free := eval[[]string](tb, "[...document.querySelectorAll('[data-state=available][data-seat]')].slice(0, 7).map(e => e.dataset.seat)")
	for _, seat := range free {
		tb.click(fmt.Sprintf("[data-seat='%s']", seat))
	}
	tb.until("document.querySelectorAll('#basket li').length === 6 && " + visible("#problem"))
	assert.Equal(t, "₩900,000", eval[string](tb, "document.querySelector('#total').textContent"), "six seats of the first row cost")
	assert.Contains(t, eval[string](tb, "document.querySelector('#problem').textContent"), "6", "about the seventh seat the page")
	tb.click(".lang")
	tb.until("document.documentElement.lang === 'ko' && document.querySelectorAll('#basket li').length === 6")
	assert.Equal(t, "900,000원", eval[string](tb, "document.querySelector('#total').textContent"), "in Korean they cost")
	if label := eval[string](tb, fmt.Sprintf("document.querySelector(\"[data-seat='%s']\").getAttribute('aria-label')", free[0])); !strings.Contains(label, "내가 고름") || !strings.Contains(label, "150,000원") {
		t.Errorf("a screen reader hears %q", label)
	}
}

// TestPagesWaitingRoom stands in line, where the bar must never go back.
func TestPagesWaitingRoom(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), phone())
	tb.signIn("mina")
	f.mu.Lock()
	f.waiting, f.still = 3, true
	f.mu.Unlock()
	tb.visit("/queue?event=show-1")
	tb.until(visible("#line"))
	assert.Equal(t, "2", eval[string](tb, "document.querySelector('#ahead').textContent"), "are ahead")
	tb.until("document.querySelector('#live').textContent !== ''")
	const bar = "Number(document.querySelector('#bar').getAttribute('aria-valuenow'))"
	before := eval[float64](tb, bar)
	f.mu.Lock()
	f.waiting = 40 // the line seems to have grown
	f.mu.Unlock()
	tb.until("Number(document.querySelector('#ahead').textContent) > 10")
	if after := eval[float64](tb, bar); after < before {
		t.Errorf("the bar went back from %v to %v", before, after)
	}
	f.mu.Lock()
	f.waiting = 0
	f.mu.Unlock()
	tb.at("/events/show-1")
}

// TestPagesPlaceEnds shows how long the place in the house lasts, and its end.
func TestPagesPlaceEnds(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), phone())
	tb.signIn("mina")
	f.mu.Lock()
	f.endless = true
	f.mu.Unlock()
	tb.visit("/queue/show-1")
	tb.at("/events/show-1")
	tb.until("!document.querySelector('#pick-go').disabled && " + calm)
	const top = "document.querySelector('#pick-go').getBoundingClientRect().top"
	before := eval[float64](tb, top)
	assert.False(t, eval[bool](tb, visible("#stay")), "the page says how long the place lasts before anybody has told it")
	f.mu.Lock()
	f.endless = false
	f.mu.Unlock()
	tb.until(visible("#stay") + " && /^9:\\d\\d$|^10:00$/.test(document.querySelector('#stay-left').textContent)")
	if after := eval[float64](tb, top); after != before {
		t.Errorf("the buttons move from %v to %v while somebody aims at them", before, after)
	}
	tb.click("#pick-go")
	tb.until("!document.querySelector('#hold').disabled")
	f.mu.Lock()
	f.over = true
	f.mu.Unlock()
	tb.until(visible("#over") + " && !(" + visible("#stay") + ") && document.querySelector('#hold').disabled")
	tb.until("document.querySelector('#live').textContent.includes('ended')")
	f.mu.Lock()
	f.over = false
	f.mu.Unlock()
	tb.click("#over a")
	tb.at("/events/show-1")
	tb.until(visible("#stay"))
	tb.click("#stay-leave")
	tb.until(visible("#confirm"))
	tb.click("#confirm-yes")
	tb.at("/shows/show-1")
}

// TestPagesPlaceRenewed holds with an entry token that is no longer valid: the page
// gets a new one and holds again, without a message.
func TestPagesPlaceRenewed(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), desktop())
	tb.Expect("status of 403")
	tb.signIn("mina")
	tb.visit("/queue/show-1")
	tb.at("/events/show-1")
	tb.until("!document.querySelector('#pick-go').disabled")
	tb.click("#pick-go")
	tb.until("!document.querySelector('#hold').disabled")
	f.mu.Lock()
	f.stale = 1
	f.mu.Unlock()
	tb.click("#hold")
	tb.at("/checkout/")
	tb.until(view("pay"))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stale != 0 || len(f.reservations) != 1 {
		t.Errorf("%d refusals were left, %d reservations were made", f.stale, len(f.reservations))
	}
}

// TestPagesHoldRunsOut lets the time to pay pass.
func TestPagesHoldRunsOut(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), desktop())
	tb.signIn("mina")
	tb.book("show-1", 1)
	f.mu.Lock()
	for _, res := range f.reservations {
		res.HoldExpiresAt = time.Now().Add(time.Second)
	}
	f.mu.Unlock()
	tb.until(view("expired"))
	assert.Equal(t, "H1", eval[string](tb, "document.activeElement.tagName"), "after the change the focus is on")
	tb.click("[data-for=expired] [data-seats]")
	tb.at("/events/show-1")
}

// TestPagesLatePayment: the bank approves after the seats were released.
func TestPagesLatePayment(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), desktop())
	tb.signIn("mina")
	tb.book("show-1", 1)
	tb.click(".card.slow input")
	tb.click("#pay-go")
	tb.until(accepted)
	f.mu.Lock()
	for _, res := range f.reservations {
		f.move(res, "CANCELLED", "HOLD_TIMEOUT", "AVAILABLE")
	}
	f.mu.Unlock()
	f.settle("SUCCESS")
	tb.until(view("late"))
	f.mu.Lock()
	for _, p := range f.payments {
		p.Status = "REFUNDED"
	}
	f.mu.Unlock()
	tb.until(view("refunded"))
}

// TestPagesClockIsSet: the clock of the device jumps ahead in the middle of a checkout. The
// office's clock decides when the hold ends.
func TestPagesClockIsSet(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), desktop())
	tb.signIn("mina")
	tb.book("show-1", 1)
	eval[bool](tb, `(() => {
		const [real, clock] = [fetch, Date.now];
		globalThis.looks = 0;
		Date.now = () => clock() + 6e5;
		globalThis.fetch = async (...call) => { const answer = await real(...call); looks += 1; await new Promise((slow) => setTimeout(slow, 50)); return answer };
		return true;
	})()`)
	tb.until("looks >= 4 && !document.querySelector('#pay-go').disabled && /^4:/.test(document.querySelector('#hold-clock').textContent)")
}

// TestPagesSignInAgain ends the sign-in in the middle of a checkout.
func TestPagesSignInAgain(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), desktop())
	tb.Expect("status of 401")
	tb.signIn("mina")
	tb.book("show-1", 1)
	key := eval[string](tb, "JSON.parse(Object.entries(sessionStorage).find(([k]) => k.startsWith('boxoffice.checkout.'))[1]).paymentKey")
	eval[bool](tb, `(localStorage.setItem("boxoffice.session", JSON.stringify({ ...JSON.parse(localStorage["boxoffice.session"]), token: "forged" })), true)`)
	tb.run(chromedp.Reload())
	tb.click("#signin-again")
	tb.until(visible("#signin"))
	tb.fill("#signin input", "mina")
	tb.press(kb.Enter)
	tb.until(view("pay"))
	tb.click("#pay-go")
	tb.until(view("done"))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keysSeen[0] != key {
		t.Errorf("the payment's key was %s and became %s", key, f.keysSeen[0])
	}
}

// TestPagesBadSignIn enters a name that no member can have.
func TestPagesBadSignIn(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), phone())
	tb.visit("/login?next=https://example.org/")
	tb.until("document.activeElement.id === 'member-id'")
	tb.fill("#member-id", "mina kim")
	tb.press(kb.Enter)
	tb.until(visible("#member-error"))
	tb.fill("#member-id", "mina")
	tb.press(kb.Enter)
	tb.at("/tickets") // and not where the address wanted to lead
	tb.visit("/login?next=/.//shows/show-1")
	tb.fill("#member-id", "mina")
	tb.press(kb.Enter)
	tb.at("/shows/show-1") // of this site, and not of the host "shows"
	tb.visit("/login?next=//")
	tb.fill("#member-id", "mina")
	tb.press(kb.Enter)
	tb.at("/tickets") // it is no address
}

// TestPagesTheme switches the colours and keeps them over pages.
func TestPagesTheme(t *testing.T) {
	f := startFake(t)
	d := desktop()
	d.dark = true
	tb := open(t, f.url(), d)
	tb.visit("/")
	tb.until(visible("#theme"))
	ground := "getComputedStyle(document.body).backgroundColor"
	dark := eval[string](tb, ground)
	tb.click("#theme")
	tb.until(fmt.Sprintf("%s !== %q", ground, dark))
	light := eval[string](tb, ground)
	tb.visit("/tickets")
	assert.Equal(t, light, eval[string](tb, ground), "on the next page the ground")
	tb.click("#theme")
	tb.click("#theme")
	tb.until(fmt.Sprintf("%s === %q && document.cookie === ''", ground, dark))
}

// TestPagesOps signs in as an operator, wrongly first, and watches dead letters
// arrive.
func TestPagesOps(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), desktop())
	tb.Expect("status of 401")
	tb.visit("/ops")
	tb.until("document.activeElement.id === 'token'")
	tb.fill("#token", "guess")
	tb.press(kb.Enter)
	tb.until(visible("#token-problem") + " && !(" + visible("#board") + ")")
	tb.fill("#token", fakeAdmin)
	tb.press(kb.Enter)
	tb.until(visible("#board") + " && document.querySelector('#verdict').dataset.ok === 'yes' && document.querySelectorAll('#consumers tr').length === 8")
	tb.until(visible("#dead-none"))
	tb.plot()
	f.mu.Lock()
	f.ops, f.looks = troubledOps, 0
	f.mu.Unlock()
	tb.until("document.querySelectorAll('.letters li').length >= 2 && document.querySelector('.letters .fresh') !== null")
	tb.until("document.querySelector('#verdict').dataset.ok === 'no' && document.querySelector('#checks [data-ok=no]') !== null")
	tb.click("#pause")
	tb.until("document.querySelector('#pulse-text').textContent === 'Paused'")
	f.mu.Lock()
	looks := f.looks
	f.mu.Unlock()
	tb.click("#pause")
	tb.until("document.querySelector('#pulse').classList.contains('live')")
	boxtest.WaitFor(t, "a question after the pause", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.looks > looks
	})
	tb.run(chromedp.Reload())
	tb.until(visible("#board")) // the tab keeps the token
	answers := func(ops func(int) (any, any)) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ops = ops
	}
	answers(unknownOps)
	tb.unknown()
	answers(func(n int) (any, any) {
		report, audit := calmOps(n)
		delete(report.(map[string]any), "budget")
		return report, audit
	})
	tb.until("document.querySelector('#budget').hidden")
}

// TestPagesOpsLive shows live streams and chat: in good order, in trouble, with unknown
// figures, and in an office that has neither.
func TestPagesOpsLive(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), desktop())
	answers := func(ops func(int) (any, any)) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ops = ops
	}
	fact := func(list, name string) string {
		return fmt.Sprintf("[...document.querySelectorAll('#%s div')].find(e => e.querySelector('dt').textContent === %q)?.querySelector('dd').textContent", list, name)
	}
	is := func(expression, want string) {
		t.Helper()
		tb.until(fmt.Sprintf("%s === %q", expression, want))
	}
	tb.visit("/ops")
	tb.fill("#token", fakeAdmin)
	tb.press(kb.Enter)
	tb.until(visible("#streams") + " && " + visible("#talk"))
	is(says("#streams-leased"), "taken")
	is(says("#streams-hearing"), "heard")
	is(fact("streams-facts", "Members with one"), "1,212")
	is(fact("streams-facts", "Cut as too slow"), "4")
	is(fact("streams-facts", "Evicted by a newer tab"), "312")
	is(says("#talk-backlog"), "0")
	tb.until(says("#streams-open") + ".startsWith('1,') && " + says("#talk-sockets") + " >= '640' && " + fact("talk-facts", "Stored") + ".startsWith('18,2')")
	for _, spark := range []string{"streams-spark", "talk-spark"} {
		tb.until(fmt.Sprintf("/now, [\\d,]+ at most$/.test(document.querySelector('#%[1]s').getAttribute('aria-label')) && document.querySelector('#%[1]s .curve').getAttribute('d').startsWith('M')", spark))
	}
	sound(tb, "live streams and chat")
	tb.axe("#streams")
	tb.axe("#talk")

	answers(troubledOps)
	is(says("#streams-leased"), "refused: Redis is away")
	is(says("#streams-hearing"), "not heard")
	is(says("#streams-open"), "0")
	is(fact("streams-facts", "Cut without Redis"), "1,840")
	is(says("#talk-dead"), "3")
	is(fact("talk-facts", "Stored"), "–")
	tb.until("document.querySelector('#talk-dead').classList.contains('warm')")
	tb.axe("#streams")
	tb.axe("#talk")

	answers(func(n int) (any, any) {
		report, audit := calmOps(n)
		report.(map[string]any)["streams"], report.(map[string]any)["chat"] = map[string]any{}, map[string]any{"backlog": nil}
		return report, audit
	})
	is(says("#streams-leased"), "–")
	is(says("#streams-open"), "–")
	is(says("#talk-backlog"), "–")
	is(says("#talk-dead"), "–")
	answers(func(n int) (any, any) {
		report, audit := calmOps(n)
		delete(report.(map[string]any), "streams")
		delete(report.(map[string]any), "chat")
		return report, audit
	})
	tb.until("document.querySelector('#streams').hidden && document.querySelector('#talk').hidden")
}

// TestPagesConfirmTwice says no and is asked again before the browser has notified the
// page that the first dialog is closed. The second answer must count, once.
func TestPagesConfirmTwice(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), desktop())
	tb.signIn("mina")
	tb.book("show-1", 1)
	eval[bool](tb, `(() => { for (const s of ["[data-cancel]", "#confirm-no", "[data-cancel]"]) document.querySelector(s).click(); return true })()`)
	tb.click("#confirm-yes")
	tb.until(view("cancelled"))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cancels != 1 {
		t.Errorf("the seats were given back %d times, want 1", f.cancels)
	}
}
