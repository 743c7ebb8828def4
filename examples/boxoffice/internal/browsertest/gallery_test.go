package browsertest

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestPagesGallery takes a picture of every page in every state, on a phone and on a
// desktop, light and dark, English and Korean, and checks the rules of every page:
// nothing is wider than the screen, every control has a name, one main heading is
// seen.
func TestPagesGallery(t *testing.T) {
	t.Parallel()
	each(t, gallery)
}

// each looks at a page on a phone and on a desktop, light and dark, in English and
// Korean. Each of these choices once is enough to find a fault in a layout; all
// combinations are for readers of the pictures.
func each(t *testing.T, look func(t *testing.T, d device, name string)) {
	t.Helper()
	for _, d := range []device{phone(), desktop()} {
		for _, lang := range []string{"en", "ko"} {
			for _, dark := range []bool{false, true} {
				d.lang, d.dark = lang, dark
				if os.Getenv("MILLRACE_GALLERY") != "all" && (dark != d.phone || (lang == "ko") != d.phone) {
					continue
				}
				name := fmt.Sprintf("%s-%s-%s", d.name, d.lang, map[bool]string{true: "dark", false: "light"}[d.dark])
				t.Run(name, func(t *testing.T) { look(t, d, name) })
			}
		}
	}
}

func gallery(t *testing.T, d device, name string) {
	f := startFake(t)
	tb := open(t, f.url(), d)
	tb.Expect("status of 404", "status of 503", "status of 409")
	n := 0
	take := func(what string) {
		t.Helper()
		n++
		tb.until(calm + " && [...document.images].every(i => i.complete || i.loading === 'lazy')")
		sound(tb, what)
		tb.sheet(fmt.Sprintf("%s-%02d-%s", name, n, what))
	}

	tb.visit("/")
	take("home")
	tb.visit("/shows/show-2")
	take("show")
	tb.visit("/shows/show-5")
	take("show-sold-out")
	tb.visit("/nowhere")
	take("not-found")
	tb.visit("/artists")
	take("artists")
	f.artistIs("42", "UPDATING", true, 12_000)
	tb.visit("/artists/42")
	tb.until(visible("#wait"))
	take("artist-updating")
	f.artistIs("42", "STALE", true, nil)
	tb.until(fresh("STALE"))
	take("artist-stale")
	f.artistIs("42", "FRESH", false, nil)
	tb.until(fresh("FRESH"))
	tb.click("#groups summary")
	take("artist")
	f.refreshIs("WAITING")
	eval[bool](tb, "(localStorage.setItem('boxoffice.session', JSON.stringify({ token: 'member:mina', memberId: 'mina' })), true)")
	tb.visit("/artists/42")
	tb.until(fresh("FRESH") + " && " + visible("#refresh"))
	tb.click("#refresh")
	tb.until("document.querySelector('#refresh-said').textContent !== ''")
	take("artist-refresh")
	eval[bool](tb, "(localStorage.clear(), sessionStorage.clear(), true)")
	f.artistIs("404", missing, false, nil)
	tb.visit("/artists/404")
	tb.until(fresh("NOT_FOUND"))
	take("artist-missing")
	tb.visit("/tickets")
	tb.until(visible("#signed-out"))
	take("tickets-signed-out")
	tb.visit("/events/show-1")
	tb.until(visible("#signin"))
	take("sign-in-dialog")
	tb.signIn("mina.kim")
	tb.until(visible("#none"))
	take("tickets-none")

	f.mu.Lock()
	f.waiting = 1284
	f.mu.Unlock()
	tb.visit("/queue?event=show-1")
	tb.until(visible("#line") + " && Number(document.querySelector('#ahead').textContent.replace(/\\D/g, '')) < 1283")
	take("queue")
	f.mu.Lock()
	f.waiting = 0
	f.mu.Unlock()

	tb.at("/events/show-1")
	tb.until("document.querySelectorAll('.row .seat[data-state=available]').length > 100")
	take("seats")
	tb.click("#pick-go")
	tb.until("document.querySelectorAll('.row .seat[data-state=chosen]').length === 2")
	tb.shot(name + "-10-seats-chosen-in-view")
	take("seats-chosen")
	tb.click("#hold")
	tb.at("/checkout/")
	tb.until("document.querySelector('#checkout').dataset.view === 'pay' && document.querySelector('#event-title').textContent.length > 3")
	take("checkout-pay")
	tb.click(".card.slow input")
	tb.click("#pay-go")
	tb.until(accepted)
	take("checkout-processing")
	tb.visit("/tickets")
	tb.until("document.querySelectorAll('.ticket').length === 1")
	f.settle("SUCCESS")
	tb.until(visible(".ticket.confirmed"))

	for i, outcome := range []string{"done", "failed", "cancelled"} {
		tb.visit([]string{"/events/show-2", "/events/show-3", "/events/show-1"}[i])
		tb.until("!document.querySelector('#pick-go').disabled")
		tb.click("#pick-go")
		tb.click("#hold")
		tb.at("/checkout/")
		tb.until("document.querySelector('#checkout').dataset.view === 'pay'")
		switch outcome {
		case "cancelled":
			tb.click("[data-cancel]")
			tb.until(visible("#confirm"))
			take("confirm-dialog")
			tb.click("#confirm-yes")
		case "failed":
			tb.click(".card.decline input")
			tb.click("#pay-go")
		default:
			tb.click("#pay-go")
		}
		tb.until(fmt.Sprintf("document.querySelector('#checkout').dataset.view === %q", outcome))
		take("checkout-" + outcome)
	}
	tb.visit("/events/show-3")
	tb.until("!document.querySelector('#pick-go').disabled")
	tb.click("#pick-go")
	tb.click("#hold")
	tb.at("/checkout/")
	tb.visit("/tickets")
	tb.until("document.querySelectorAll('.ticket').length === 5 && [...document.images].every(i => i.complete)")
	take("tickets")

	tb.visit("/ops")
	take("ops-token")
	f.mu.Lock()
	f.ops = troubledOps
	f.mu.Unlock()
	tb.fill("#token", fakeAdmin)
	tb.click("#token-form [type=submit]")
	tb.until("document.querySelectorAll('.letters li').length === 4")
	take("ops")
	eval[bool](tb, `(document.querySelector("#budget").scrollIntoView({ block: "start" }), true)`)
	tb.shot(name + "-ops-budget-in-view")
	eval[bool](tb, `(document.querySelector("#streams").scrollIntoView({ block: "start" }), true)`)
	tb.shot(name + "-ops-streams-in-view")
	f.mu.Lock()
	f.letters = buried(5)
	f.ops = func(n int) (any, any) { return opsWith(n, f.letters.report()), invariantsAnswer(true, true) }
	f.mu.Unlock()
	tb.until("document.querySelectorAll('.letters li').length === 5")
	take("ops-dead-letters")
	tb.click(".letters li:nth-child(1) .actions button")
	tb.until(visible("#letter"))
	tb.click("#letter-stack summary")
	take("ops-letter")
	tb.shot(name + "-ops-letter-in-view")
	tb.click("#letter-close")
	tb.click("[data-topic] .bar button:nth-of-type(1)")
	tb.until(visible("#confirm"))
	tb.shot(name + "-ops-redrive-asks")
	tb.click("#confirm-no")

	f.mu.Lock()
	f.broken, f.away = errors.New("the database is away"), true // the page does not look again
	f.mu.Unlock()
	tb.visit("/shows/show-1")
	take("unavailable")
	tb.visit("/offline")
	take("offline")
}

// sound checks the rules that hold for every page in every state.
func sound(tb *tab, what string) {
	tb.Helper()
	if over := eval[int](tb, `Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)`); over > 0 {
		wide := eval[string](tb, `[...document.querySelectorAll("body *")].filter(e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroller, .tablebox")).slice(0, 5).map(e => e.tagName + "." + e.className).join(", ")`)
		tb.Errorf("%s is %d px wider than the screen: %s", what, over, wide)
	}
	if unnamed := eval[string](tb, `[...document.querySelectorAll("a, button, input:not([type=radio])")].filter(e => e.checkVisibility() && !e.disabled && !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length)).map(e => e.outerHTML.slice(0, 90)).join("\n")`); unnamed != "" {
		tb.Errorf("%s has controls without a name:\n%s", what, unnamed)
	}
	if headings := eval[int](tb, `[...document.querySelectorAll("h1")].filter(e => e.checkVisibility()).length`); headings != 1 {
		tb.Errorf("%s shows %d main headings, want 1", what, headings)
	}
	if small := eval[string](tb, `[...document.querySelectorAll("button, .button, nav a")].filter(e => e.checkVisibility() && !e.disabled).map(e => [e, e.getBoundingClientRect()]).filter(([, b]) => b.width < 23.5 || b.height < 23.5).map(([e]) => e.outerHTML.slice(0, 90)).slice(0, 3).join("\n")`); small != "" {
		tb.Errorf("%s has controls under 24 px:\n%s", what, small)
	}
	if raw := eval[string](tb, `document.querySelector("main").innerText.match(/\{\w+\}|\b(?:undefined|NaN|\[object)\b/)?.[0] ?? ""`); raw != "" {
		tb.Errorf("%s shows %q", what, raw)
	}
	if strings.Contains(eval[string](tb, `document.title`), "  ") {
		tb.Errorf("%s has a title with a gap", what)
	}
}
