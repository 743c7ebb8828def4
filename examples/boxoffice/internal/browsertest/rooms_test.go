package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/internal/chromiumtest"
)

// inRoom is a selector: a part of a show's waiting room on the operator's page.
func inRoom(show, part string) string {
	return fmt.Sprintf("[data-event='%s'] [data-part='%s']", show, part)
}

// says is an expression: the text of an element.
func says(selector string) string {
	return fmt.Sprintf("document.querySelector(%q)?.textContent", selector)
}

// withRooms is an office whose waiting rooms an operator is looking at.
func withRooms(t *testing.T, d device) (*fake, *tab) {
	t.Helper()
	f := startFake(t)
	f.rooms = busyRooms()
	f.ops = func(n int) (any, any) {
		report, audit := calmOps(n)
		report.(map[string]any)["rooms"] = f.rooms.report(n)
		return report, audit
	}
	tb := open(t, f.url(), d)
	tb.visit("/ops")
	tb.fill("#token", fakeAdmin)
	tb.press(kb.Enter)
	tb.until("document.querySelectorAll('#room-list > .room').length === 5")
	return f, tb
}

// did are the operator's actions since the last call.
func (f *fake) did() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.rooms.asked
	f.rooms.asked = nil
	return out
}

// looked waits until the page has shown n more reports.
func (tb *tab) looked(f *fake, n int) {
	tb.Helper()
	f.mu.Lock()
	until := f.looks + n
	f.mu.Unlock()
	for seen := 0; seen <= until; { // the answer to a look is on the page when the next one comes
		tb.until("document.querySelector('#pulse').classList.contains('live')")
		f.mu.Lock()
		seen = f.looks
		f.mu.Unlock()
	}
}

// TestPagesRooms operates waiting rooms: places by slider and by number, a pause, the
// gate, and removing everyone.
func TestPagesRooms(t *testing.T) {
	f, tb := withRooms(t, desktop())
	tb.Expect("status of 503")
	openRooms := eval[string](tb, "[...document.querySelectorAll('.room[open]')].map(e => e.dataset.event).join()")
	assert.Equalf(t, "show-1,show-2,show-3", openRooms, "the rooms %s are open, want those where somebody is", openRooms)
	for selector, want := range map[string]string{
		inRoom("show-1", "chip"): "open", inRoom("show-2", "chip"): "front gate on", inRoom("show-3", "chip"): "paused", inRoom("show-5", "chip"): "not known",
		inRoom("show-1", "brief"): "1,204 waiting · 97 of 100 places taken", inRoom("show-1", "entitled"): "12", inRoom("show-1", "noshows"): "31",
		inRoom("show-1", "stock"): "230", inRoom("show-2", "stock"): "–", inRoom("show-1", "returning"): "12", inRoom("show-1", "laned"): "3 (member 30%)",
		inRoom("show-1", "swept"): "30", inRoom("show-2", "before"): "84,500", inRoom("show-4", "brief"): "0 waiting · 0 of 1,000 places taken",
	} {
		if text := eval[string](tb, says(selector)); text != want {
			t.Errorf("%s says %q, want %q", selector, text, want)
		}
	}
	tb.roomPlot(f)

	// Places, by keyboard.
	slider := "#room-show-1-threshold"
	tb.tabTo(slider)
	tb.press(kb.ArrowRight)
	tb.until(says("#live") + " === 'Moonlight Parade: the number of places is now 120. 97 are taken, 1,204 people wait.'")
	tb.until(fmt.Sprintf("document.activeElement === document.querySelector(%[1]q) && document.querySelector(%[1]q).getAttribute('aria-valuetext') === '120 places'", slider))
	assert.Equal(t, []string{"threshold show-1"}, f.did(), "the slider asked for")
	field := "[data-event='show-1'] input[type=number]"
	assert.Equal(t, "120", eval[string](tb, fmt.Sprintf("document.querySelector(%q).value", field)), "beside the slider")
	tb.fill(field, "777")
	tb.press(kb.Enter)
	tb.until(says(inRoom("show-1", "said")) + ".includes('is now 777.')")
	tb.until(fmt.Sprintf("document.querySelector(%q).getAttribute('aria-valuetext') === '777 places'", slider))
	// No number stays in the field, and no request is made for it.
	f.did()
	tb.fill(field, "-5")
	tb.until(fmt.Sprintf("document.querySelector(%q).getAttribute('aria-invalid') === 'true'", field))
	tb.looked(f, 1)
	tb.press(kb.Tab)
	tb.until(fmt.Sprintf("document.querySelector(%[1]q).value === '777' && !document.querySelector(%[1]q).hasAttribute('aria-invalid')", field))
	if got := f.did(); len(got) > 0 {
		t.Errorf("for -5 places it asked for %q", got)
	}

	// A pause, which keeps the focus, and its end.
	pause := inRoom("show-1", "pause")
	tb.click(pause)
	tb.until(says(inRoom("show-1", "chip")) + " === 'paused' && " + says(pause) + " === 'Resume admission'")
	tb.until(says("#live") + " === 'Moonlight Parade: nobody is let in until you resume.'")
	tb.looked(f, 1)
	tb.until(fmt.Sprintf("document.activeElement === document.querySelector(%q)", pause))
	tb.press(kb.Enter)
	tb.until(says(inRoom("show-1", "chip")) + " === 'open' && " + says("#live") + " === 'Moonlight Parade: people are let in again.'")

	// The gate.
	assert.False(t, eval[bool](tb, visible(inRoom("show-1", "advance"))), "a gate that is off can be advanced")
	tb.click(inRoom("show-1", "switch"))
	tb.until(says(inRoom("show-1", "gatechip")) + " === 'on' && " + says(inRoom("show-1", "assigned")) + " === '1,200'")
	tb.click(inRoom("show-1", "advance"))
	tb.until(says("#live") + " === 'Moonlight Parade: 500 more may go on, up to number 500.' && " + says(inRoom("show-1", "before")) + " === '700'")
	tb.click(inRoom("show-1", "switch"))
	tb.until(says(inRoom("show-1", "gatechip")) + " === 'off'")
	assert.Equal(t, []string{"pause show-1", "resume show-1", "activate show-1", "advance show-1", "deactivate show-1"}, f.did(), "the buttons asked for")

	// Removing everyone needs a confirmation.
	tb.click(inRoom("show-1", "clear"))
	tb.until(visible("#confirm") + " && document.activeElement.id === 'confirm-no'")
	if text := eval[string](tb, says("#confirm-text")); !strings.Contains(text, "1,204 who wait") || !strings.Contains(text, "97 who have a place") {
		t.Errorf("it asks %q", text)
	}
	tb.press(kb.Escape)
	tb.until("!(" + visible("#confirm") + ")")
	tb.click(inRoom("show-1", "clear"))
	tb.click("#confirm-yes")
	tb.until(says("#live") + " === 'Moonlight Parade: the room is empty.' && " + says(inRoom("show-1", "waiting")) + " === '0'")
	assert.Equal(t, []string{"clear show-1"}, f.did(), "everybody out asked for")
	sound(tb, "the waiting rooms")
	tb.axe("#rooms")
}

// TestPagesRoomsAway: an operator sees how old the figures are and which actions were
// refused, and no look from before a change undoes it on the page.
func TestPagesRoomsAway(t *testing.T) {
	f, tb := withRooms(t, desktop())
	tb.Expect("status of 503")
	pause := inRoom("show-1", "pause")
	// The next reports show a state from before the pause.
	f.mu.Lock()
	before := f.rooms.look(f.looks, 60, "")
	calm := f.ops
	f.ops = func(n int) (any, any) {
		report, audit := calm(n)
		report.(map[string]any)["rooms"] = before
		return report, audit
	}
	f.mu.Unlock()
	tb.click(pause)
	tb.until(says(inRoom("show-1", "chip")) + " === 'paused'")
	tb.looked(f, 2)
	assert.Equal(t, "paused", eval[string](tb, says(inRoom("show-1", "chip"))), "after two looks from before the pause the room")
	f.mu.Lock()
	f.ops = calm
	f.rooms.all[0].paused = false // another operator resumed
	f.mu.Unlock()
	tb.until(says(inRoom("show-1", "chip")) + " === 'open'")

	f.mu.Lock()
	f.rooms.goAway(f.looks)
	f.mu.Unlock()
	tb.until(visible(inRoom("show-1", "unknown")) + " && " + says(inRoom("show-1", "unknown")) + " === 'as of 60 s ago · queue: the store cannot be asked; nobody enters'")
	slider := "#room-show-1-threshold"
	tb.tabTo(slider)
	tb.press(kb.ArrowLeft)
	tb.until(visible(inRoom("show-1", "problem")) + " && " + says(inRoom("show-1", "problem")) + ".includes('cannot be asked')")
	tb.until(fmt.Sprintf("document.querySelector(%q).getAttribute('aria-valuetext') === '100 places'", slider))
	tb.axe("#rooms")

	f.mu.Lock()
	f.ops = func(n int) (any, any) {
		report, audit := calmOps(n)
		report.(map[string]any)["rooms"] = map[string]any{"shows": []any{}, "error": "catalog: read shows: gone"}
		return report, audit
	}
	f.mu.Unlock()
	tb.until(says("#rooms-none") + " === 'The shows can’t be listed: catalog: read shows: gone.' && document.querySelectorAll('.room').length === 0")
	f.mu.Lock()
	f.ops = func(n int) (any, any) {
		report, audit := calmOps(n)
		delete(report.(map[string]any), "rooms")
		return report, audit
	}
	f.mu.Unlock()
	tb.until("document.querySelector('#rooms').hidden")
}

// TestPagesRoomsLook takes a picture of the rooms in both themes and languages, on a
// phone and on a desktop, and checks each with axe.
func TestPagesRoomsLook(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d device, name string) {
		_, tb := withRooms(t, d)
		tb.until("document.querySelector('[data-event=show-1] .bars')?.getAttribute('d').startsWith('M') && " + calm)
		eval[bool](tb, `(document.querySelector("#rooms").scrollIntoView({ block: "start" }), true)`)
		tb.shot("ops-rooms-" + name)
		sound(tb, "the waiting rooms")
		tb.axe("#rooms")
	})
}

// roomPlot checks the picture of the first room at hand: its bars, its gaps for
// unknown values, its words, its table, and that it moves.
func (tb *tab) roomPlot(f *fake) {
	tb.Helper()
	const picture = "[data-event='show-1'] svg.admitted"
	drawn := func(part string) string {
		return fmt.Sprintf("document.querySelector(\"%s .%s\").getAttribute('d')", picture, part)
	}
	if bars, unknown := eval[int](tb, drawn("bars")+".split('z').length - 1"), eval[int](tb, drawn("unknown")+".split('z').length - 1"); bars < 80 || bars > 100 || unknown != 20 {
		tb.Errorf("the picture has %d bars and %d seconds that nobody knows, want about 92 and 20", bars, unknown)
	}
	if inside := eval[bool](tb, fmt.Sprintf(`(p => { const b = p.getBoundingClientRect(); return [...p.querySelectorAll("text")].every(e => { const r = e.getBoundingClientRect(); return r.left >= b.left - 1 && r.right <= b.right + 1 && r.top >= b.top - 1 && r.bottom <= b.bottom + 1 }) })(document.querySelector(%q))`, picture)); !inside {
		tb.Error("a word of the picture is outside of it")
	}
	words := fmt.Sprintf("document.querySelector(%q).getAttribute('aria-label')", picture)
	if label := eval[string](tb, words); !strings.HasPrefix(label, "Moonlight Parade: people let in per second over the last two minutes: ") || !strings.Contains(label, "at most 11 at ") {
		tb.Errorf("a screen reader hears %q", label)
	}
	before := eval[string](tb, drawn("bars"))
	tb.until(fmt.Sprintf("%s !== %q", drawn("bars"), before))
	tb.tabTo("[data-event='show-1'] [data-part='table'] summary")
	tb.press(kb.Enter)
	tb.until("document.querySelectorAll(\"[data-event='show-1'] tbody tr\").length === 120")
	rows := eval[[]string](tb, "[...document.querySelectorAll(\"[data-event='show-1'] tbody td\")].map(e => e.textContent)")
	if last := rows[len(rows)-1]; last != "–" || rows[0] == "–" || rows[0] == "" {
		tb.Errorf("the first row of the table is %q and its last %q", rows[0], last)
	}
	tb.press(kb.Enter)
	tb.looked(f, 1)
}

// axe runs the accessibility engine on a part of the page.
func (tb *tab) axe(selector string) {
	tb.Helper()
	if !eval[bool](tb, "globalThis.axe !== undefined") {
		eval[bool](tb, chromiumtest.Axe+"; true")
	}
	eval[bool](tb, fmt.Sprintf(`(globalThis.found = null, axe.run(document.querySelector(%q), { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })
		.then((r) => { globalThis.passed = r.passes.length; globalThis.found = r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.html + " " + n.failureSummary).join(" | ")); }, (e) => { globalThis.found = ["axe failed: " + e]; }), true)`, selector))
	tb.until("globalThis.found !== null")
	for _, violation := range eval[[]string](tb, "globalThis.found") {
		tb.Errorf("axe: %s", violation)
	}
	if passed := eval[int](tb, "globalThis.passed"); passed < 10 {
		tb.Errorf("axe has only %d rules passed: it has not looked", passed)
	}
}

// TestOfficeRooms makes an operator hold up a member before the real office, and let
// the member in.
func TestOfficeRooms(t *testing.T) {
	o := startOffice(t)
	tb := open(t, o.url(), desktop())
	tb.visit("/ops")
	tb.fill("#token", o.Admin)
	tb.press(kb.Enter)
	tb.until(says(inRoom("show-1", "brief")) + " === '0 waiting · 0 of 1,000 places taken'")
	for !eval[bool](tb, "document.querySelector(\"[data-event='show-1']\").open") {
		tb.click("[data-event='show-1'] summary") // above it the page may grow, and the click miss
	}
	tb.fill("[data-event='show-1'] input[type=number]", "5")
	tb.press(kb.Enter)
	tb.until(says("#live") + ".endsWith(': the number of places is now 5. 0 are taken, 0 people wait.')")
	tb.click(inRoom("show-1", "pause"))
	tb.until(says(inRoom("show-1", "chip")) + " === 'paused'")

	fan := open(t, o.url(), phone())
	fan.signIn("mina")
	fan.visit("/queue?event=show-1")
	tb.until(says(inRoom("show-1", "brief")) + " === '1 waiting · 0 of 5 places taken'")
	tb.click(inRoom("show-1", "pause"))
	tb.until(says(inRoom("show-1", "chip")) + " === 'open'")
	fan.at("/events/show-1")
	tb.until(says(inRoom("show-1", "brief")) + " === '0 waiting · 1 of 5 places taken' && " + says(inRoom("show-1", "entered")) + " === '1 let in so far'")
	tb.until("document.querySelector(\"[data-event='show-1'] .bars\")?.getAttribute('d').startsWith('M')")
	tb.click(inRoom("show-1", "switch"))
	tb.until(says(inRoom("show-1", "gatechip")) + " === 'on' && " + says(inRoom("show-1", "chip")) + " === 'front gate on'")
	tb.click(inRoom("show-1", "advance"))
	tb.until(says("#live") + ".endsWith(': 0 more may go on, up to number 0.')")
	tb.click(inRoom("show-1", "switch"))
	tb.until(says(inRoom("show-1", "gatechip")) + " === 'off'")
	tb.click(inRoom("show-1", "clear"))
	tb.click("#confirm-yes")
	tb.until(says(inRoom("show-1", "brief")) + " === '0 waiting · 0 of 5 places taken' && " + says(inRoom("show-1", "entered")) + " === '0 let in so far'")
	tb.sheet("office-rooms")
	sound(tb, "the waiting rooms of the office")
	tb.axe("#rooms")
}
