package browsertest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/millrace-go/millrace/internal/chromiumtest"
)

// device is the screen of a visitor.
type device struct {
	name          string
	width, height int64
	phone, dark   bool
	lang          string
}

func desktop() device { return device{name: "desktop", width: 1280, height: 900, lang: "en"} }
func phone() device {
	return device{name: "phone", width: 390, height: 844, phone: true, lang: "en"}
}

// tab is one page in a profile of its own, with its complaints.
type tab struct {
	*testing.T
	ctx    context.Context
	base   string
	device device
	*chromiumtest.Console
}

func open(t *testing.T, base string, d device) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium.Context(t), chromedp.WithNewBrowserContext())
	return begin(&tab{T: t, ctx: ctx, base: base, device: d}, cancel)
}

// another opens one more tab of the same browser, with the same sign-in.
func (tb *tab) another(path string) *tab {
	tb.Helper()
	ctx, cancel := chromedp.NewContext(tb.ctx)
	next := begin(&tab{T: tb.T, ctx: ctx, base: tb.base, device: tb.device}, cancel)
	next.visit(path)
	return next
}

func begin(tb *tab, cancel func()) *tab {
	t, ctx, d := tb.T, tb.ctx, tb.device
	t.Helper()
	tb.Console = chromiumtest.Listen(ctx)
	t.Cleanup(func() {
		if t.Failed() {
			tb.picture("failed-"+strings.ReplaceAll(t.Name(), "/", "-"), false)
		}
		_ = chromedp.Cancel(ctx) // a tab that is gone already is as good
		cancel()
		for _, complaint := range tb.Complaints() {
			t.Errorf("the browser complained: %s", complaint)
		}
	})
	scheme := "light"
	if d.dark {
		scheme = "dark"
	}
	set(tb, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: d.width, Height: d.height, DeviceScaleFactor: 1, Mobile: d.phone})
	set(tb, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: d.phone})
	set(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme},
		{Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	// Tabs that are open at the same time are each in front, and have the keyboard.
	set(tb, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	set(tb, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": d.lang}})
	return tb
}

// set sends one command to the tab.
func set[P, R any](tb *tab, command cdp.Command[P, R], params P) {
	tb.Helper()
	if _, err := chromedp.Call(tb.ctx, command, params); err != nil {
		tb.Fatal(err)
	}
}

func (tb *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		tb.Fatal(err)
	}
}

// eval returns a JavaScript expression's value. It runs outside of the page's
// content security policy, as a debugger does.
func eval[T any](tb *tab, expression string) T {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		tb.Fatalf("%s: %v", expression, err)
	}
	return value
}

// until waits for an expression to become true. While a page is being replaced it
// can't be asked, so errors are only reported at the timeout.
func (tb *tab) until(expression string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if err == nil && ok {
			return
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			state, err := chromedp.Run(tb.ctx, chromedp.Evaluate[string](`location.href + " — " + document.querySelector("main")?.innerText`))
			if err != nil {
				state = err.Error()
			}
			tb.Fatalf("never true: %s (%v)\nseen at last: %.600s", expression, last, state)
		case <-tick.C:
		}
	}
}

func (tb *tab) visit(path string) {
	tb.Helper()
	tb.run(chromedp.Navigate(tb.base + path))
}

func (tb *tab) at(prefix string) {
	tb.Helper()
	tb.until(fmt.Sprintf("location.pathname.startsWith(%q) && document.readyState === 'complete'", prefix))
}

// visible is an expression: an element is there and can be seen.
func visible(selector string) string {
	return fmt.Sprintf("document.querySelector(%q)?.checkVisibility({ visibilityProperty: true })", selector)
}

// calm is an expression: nothing on the page moves any more.
const calm = "document.fonts.status === 'loaded' && document.getAnimations().every(a => a.playState !== 'running')"

// settled reports whether an element is where it was at the last call, and the fonts
// are loaded: a pointer misses an element that still moves.
const settled = `(e => {
	const box = JSON.stringify(e.getBoundingClientRect());
	const same = e.box === box && document.fonts.status === "loaded";
	e.box = box;
	return same;
})`

// click waits until an element can be used and clicks it as a pointer would.
func (tb *tab) click(selector string) {
	tb.Helper()
	tb.until(visible(selector) + fmt.Sprintf(" && !document.querySelector(%[1]q).disabled && %[2]s(document.querySelector(%[1]q))", selector, settled))
	tb.run(chromedp.Click(chromedp.CSS(selector)))
}

func (tb *tab) press(keys ...string) {
	tb.Helper()
	for _, key := range keys {
		tb.run(chromedp.KeyEvent(key))
	}
}

// fill types into a field, in place of its content.
func (tb *tab) fill(selector, text string) {
	tb.Helper()
	tb.until(visible(selector))
	eval[bool](tb, fmt.Sprintf("(e => (e.focus(), e.select(), true))(document.querySelector(%q))", selector))
	tb.press(text)
	tb.until(fmt.Sprintf("document.querySelector(%q).value === %q", selector, text))
}

// signIn signs in on the page that asks for it.
func (tb *tab) signIn(member string) {
	tb.Helper()
	tb.visit("/login")
	tb.until(visible("#login") + " && document.activeElement.id === 'member-id'")
	tb.fill("#login input", member)
	tb.click("#login [type=submit]")
	tb.at("/tickets")
}
