package queuepagetest

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/millrace-go/millrace/internal/chromiumtest"
)

// patience is how long a page may take to reach a state. It is generous: the
// tests run beside others on small machines.
const patience = 40 * time.Second

//go:embed testdata/clock.js
var clockScript string

// device is the screen of a visitor's device.
type device struct {
	width, height int64
	dark          bool
	lang          string // default en-US
}

func phone() device { return device{width: 390, height: 844} }

// tab is one page in a profile of its own, with the errors of its console.
type tab struct {
	*testing.T
	ctx  context.Context
	base string
	*chromiumtest.Console
}

func open(t *testing.T, base string, d device) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium.Context(t), chromedp.WithNewBrowserContext())
	tb := &tab{T: t, ctx: ctx, base: base, Console: chromiumtest.Listen(ctx)}
	tb.Expect("Failed to load resource") // that an answer is an error belongs to the tests
	t.Cleanup(func() {
		if t.Failed() {
			tb.shot("failed-" + strings.ReplaceAll(t.Name(), "/", "-"))
		}
		_ = chromedp.Cancel(ctx) // a tab that is gone already is as good
		cancel()
		for _, complaint := range tb.Complaints() {
			t.Errorf("the browser complained: %s", complaint)
		}
	})
	if d.lang == "" {
		d.lang = "en-US"
	}
	tb.wear(d)
	set(tb, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: "waiting", AcceptLanguage: d.lang})
	tb.before(clockScript)
	return tb
}

// before makes a script run in each document before those of its own.
func (tb *tab) before(script string) {
	tb.Helper()
	set(tb, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
}

// wear makes the tab look like another device.
func (tb *tab) wear(d device) {
	tb.Helper()
	scheme := "light"
	if d.dark {
		scheme = "dark"
	}
	set(tb, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: d.width, Height: d.height, DeviceScaleFactor: 1, Mobile: d.width < 700})
	set(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme},
		{Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// set sends one command to the tab.
func set[P, R any](tb *tab, command cdp.Command[P, R], params P) {
	tb.Helper()
	if _, err := chromedp.Call(tb.ctx, command, params); err != nil {
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
		tb.Fatalf("%.200s: %v", expression, err)
	}
	return value
}

// until waits for an expression to become true. While a page is being replaced it
// can't be asked, so errors are only reported when time is up.
func (tb *tab) until(expression string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
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
			state, err := chromedp.Run(tb.ctx, chromedp.Evaluate[string](`location.href + " — " + document.title + " — " + document.body.dataset.view + " — " + document.body.innerText`))
			if err != nil {
				state = err.Error()
			}
			tb.Fatalf("never true: %s (%v)\nseen at last: %.800s", expression, last, state)
		case <-tick.C:
		}
	}
}

func (tb *tab) visit(path string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(tb.base+path)); err != nil {
		tb.Fatal(err)
	}
}

func (tb *tab) reload() {
	tb.Helper()
	eval[bool](tb, "(globalThis.old = true, location.reload(), true)")
	tb.until("globalThis.old === undefined && document.readyState === 'complete' && document.body.dataset.view")
}

func (tb *tab) press(keys ...string) {
	tb.Helper()
	for _, key := range keys {
		if err := chromedp.Do(tb.ctx, chromedp.KeyEvent(key)); err != nil {
			tb.Fatal(err)
		}
	}
}

// focus goes to an element by Tab alone.
func (tb *tab) focus(id string) {
	tb.Helper()
	for range 20 {
		if eval[string](tb, "document.activeElement.id") == id {
			return
		}
		tb.press("\t")
	}
	tb.Fatalf("Tab does not lead to #%s", id)
}

// in waits for a view.
func (tb *tab) in(view string) {
	tb.Helper()
	tb.until(fmt.Sprintf("document.body?.dataset.view === %q", view))
}

func (tb *tab) text(id string) string {
	tb.Helper()
	return eval[string](tb, fmt.Sprintf("document.getElementById(%q).textContent", id))
}

// says waits for a text.
func (tb *tab) says(id, want string) {
	tb.Helper()
	tb.until(fmt.Sprintf("document.getElementById(%q)?.textContent === %q && !document.getElementById(%[1]q).hidden", id, want))
}

// advance lets time pass on the page.
func (tb *tab) advance(d time.Duration) {
	tb.Helper()
	eval[bool](tb, fmt.Sprintf("clock.advance(%d)", d.Milliseconds()))
}

// next is the time to the page's next poll: in the line that is the only timer when
// no request is in flight.
func (tb *tab) next() time.Duration {
	tb.Helper()
	tb.until("clock.idle() && clock.delays().length === 1")
	return time.Duration(eval[float64](tb, "clock.delays()[0]") * float64(time.Millisecond))
}

// poll lets time pass up to the next poll.
func (tb *tab) poll() {
	tb.Helper()
	tb.advance(tb.next())
}

// hide makes the page think that its tab is hidden, or visible again.
func (tb *tab) hide(hidden bool) {
	tb.Helper()
	eval[bool](tb, fmt.Sprintf(`(Object.defineProperty(document, "hidden", { configurable: true, get: () => %t }), document.dispatchEvent(new Event("visibilitychange")), true)`, hidden))
}

func (tb *tab) said() []string {
	tb.Helper()
	return eval[[]string](tb, "clock.said")
}

// shot writes a picture of the whole page to the folder of MILLRACE_SCREENSHOTS.
func (tb *tab) shot(name string) {
	tb.Helper()
	dir := os.Getenv("MILLRACE_SCREENSHOTS")
	if dir == "" {
		return
	}
	beyond := true
	params := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng, CaptureBeyondViewport: &beyond, Clip: &page.Viewport{
		Width: eval[float64](tb, "document.documentElement.clientWidth"), Height: eval[float64](tb, "document.documentElement.scrollHeight"), Scale: 1,
	}}
	image, err := chromedp.Call(tb.ctx, page.CaptureScreenshot, params)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), image.Data, 0o644)
	}
	if err != nil {
		tb.Logf("no picture of %s: %v", name, err)
	}
}
