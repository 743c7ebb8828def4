package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tabTo moves the focus with the Tab key until it is on the element.
func (tb *tab) tabTo(selector string) {
	tb.Helper()
	tb.until(visible(selector))
	for range 80 {
		if eval[bool](tb, fmt.Sprintf("document.activeElement === document.querySelector(%q)", selector)) {
			// A keyboard user must see the focus.
			if !eval[bool](tb, "document.activeElement.matches(':focus-visible') && (getComputedStyle(document.activeElement).outlineStyle !== 'none' || document.activeElement.matches('.card input'))") {
				tb.Errorf("the focus on %s can't be seen", selector)
			}
			return
		}
		tb.press(kb.Tab)
	}
	tb.Fatalf("the Tab key never reaches %s", selector)
}

// TestOfficeKeyboard books without a pointer.
func TestOfficeKeyboard(t *testing.T) {
	o := startOffice(t)
	tb := open(t, o.url(), desktop())
	tb.Expect("status of 401") // a visitor without a sign-in in the waiting room
	tb.visit("/")
	tb.tabTo(".skip")
	tb.press(kb.Enter)
	tb.tabTo("a[href='/shows/show-4']")
	tb.press(kb.Enter)
	tb.at("/shows/show-4")
	tb.tabTo("#get-seats")
	tb.press(kb.Enter)
	tb.until(visible("#signin"))
	tb.tabTo("#signin")
	tb.press(kb.Enter)
	tb.at("/login")
	tb.until("document.activeElement.matches('main input')") // the page puts the focus where it is needed
	tb.press("keyboard-only", kb.Enter)
	tb.at("/events/show-4")
	tb.until("!document.querySelector('#pick-go').disabled")

	tb.tabTo("[data-seat='G-13']") // the plan is one stop, in the middle of the house
	at := func(want string) {
		t.Helper()
		require.Equal(t, want, eval[string](tb, "document.activeElement.dataset.seat"), "the focus is on")
	}
	for _, step := range []struct{ key, want string }{
		{kb.ArrowRight, "G-14"}, {kb.ArrowDown, "H-14"}, {kb.ArrowLeft, "H-13"}, {kb.ArrowUp, "G-13"},
		{kb.Home, "G-1"}, {kb.ArrowLeft, "G-1"}, {kb.End, "G-25"}, {kb.PageUp, "B-25"}, {kb.PageUp, "A-25"}, {kb.PageDown, "F-25"},
	} {
		tb.press(step.key)
		at(step.want)
	}
	tb.press(" ", kb.ArrowLeft, " ", kb.ArrowLeft, " ", " ")
	tb.until("[...document.querySelectorAll('#basket b')].map(e => e.textContent).join() === 'F-24,F-25'")
	label := eval[string](tb, "document.querySelector(\"[data-seat='F-25']\").getAttribute('aria-label')")
	assert.Equal(t, "Row F, seat 25, ₩120,000, chosen by you", label, "a screen reader hears")
	tb.until("document.querySelector('#live').textContent.includes('F-23')")
	tb.press(kb.Tab)
	assert.False(t, eval[bool](tb, "document.activeElement.matches('.seat')"), "the plan takes more than one stop of the Tab key")
	tb.tabTo("#hold")
	tb.press(kb.Enter)
	tb.at("/checkout/")
	tb.until(view("pay"))
	tb.tabTo(".card.approve input")
	tb.press(kb.ArrowRight)
	tb.until("document.querySelector('#card').value === '4000 0000 0000 0002'")
	tb.press(kb.ArrowLeft)
	tb.until("document.querySelector('#card').value === '4242 4242 4242 4242'")
	tb.tabTo("#pay-go")
	tb.press(kb.Enter)
	tb.until(view("done"))
	tb.until("document.activeElement.matches('[data-for=done] h1')")
	tb.tabTo("[data-for=done] a[href='/tickets']")
	tb.press(kb.Enter)
	tb.until(visible(".ticket.confirmed"))
}
