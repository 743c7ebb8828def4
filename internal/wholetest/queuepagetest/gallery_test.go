package queuepagetest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/chromiumtest"
	"github.com/millrace-go/millrace/queue/queuepage"
)

// office is the box office's look: the wheel of a mill, ink on paper beside water.
func office(t *testing.T) (b queuepage.Brand) {
	t.Helper()
	raw, err := os.ReadFile("../../../queue/queuepage/testdata/office.json")
	if err == nil {
		err = json.Unmarshal(raw, &b)
	}
	require.NoError(t, err)
	return b
}

// states are all that a visitor can see, and how to get there.
var states = []struct {
	name, path, view string
	set              func(f *fake)
	then             func(tb *tab, f *fake)
}{
	{"joining", "/queue/joining", "joining", func(f *fake) { f.is("check", answer{hang: true}) }, nil},
	{"waiting", "/queue/waiting", "waiting", func(f *fake) { f.is("check", queued(12480)) }, func(tb *tab, f *fake) {
		f.is("check", queued(4213))
		tb.poll()
		tb.says("position", "4,213")
	}},
	{"next", "/queue/next", "waiting", func(f *fake) { f.is("check", queued(40)) }, func(tb *tab, f *fake) {
		f.is("check", queued(1))
		tb.poll()
		tb.says("position", "1")
	}},
	{"paused", "/queue/paused", "paused", func(f *fake) { f.is("check", queued(812, "paused", true, "estimatedWait", nil)) }, nil},
	{"settling", "/queue/settling", "settling", func(f *fake) { f.is("check", queued(812, "settling", 55, "estimatedWait", nil)) }, nil},
	{"busy", "/queue/busy", "waiting", func(f *fake) { f.is("check", queued(2812)) }, func(tb *tab, f *fake) {
		f.is("check", busy(5))
		tb.poll()
		tb.until("document.body.dataset.trouble === 'busy'")
	}},
	{"renewed", "/queue/renewed", "waiting", func(f *fake) { f.is("check", queued(12)) }, func(tb *tab, f *fake) {
		f.is("check", queued(31204))
		tb.poll()
		tb.says("position", "31,204")
	}},
	{"turn", "/queue/turn", "turn", func(f *fake) { f.is("check", queued(2)) }, func(tb *tab, f *fake) {
		f.is("check", admitted(600))
		f.is("heartbeat", admitted(598))
		tb.poll()
	}},
	{"turn-stay", "/queue/turn-stay", "turn", func(f *fake) { f.is("check", queued(2)) }, func(tb *tab, f *fake) {
		f.is("check", admitted(600))
		f.is("heartbeat", admitted(598))
		tb.poll()
		tb.in("turn")
		eval[bool](tb, "(document.getElementById('stay').click(), true)")
	}},
	{"passed", "/queue/passed", "passed", func(f *fake) { f.is("check", gone()) }, nil},
	{"leaving", "/queue/leaving", "waiting", func(f *fake) { f.is("check", queued(88)) }, func(tb *tab, f *fake) {
		tb.in("waiting")
		eval[bool](tb, "(document.getElementById('leave').click(), true)")
	}},
	{"left", "/queue/left", "left", func(f *fake) { f.is("check", queued(88)) }, func(tb *tab, f *fake) {
		f.is("leave", answer{status: 204})
		tb.in("waiting")
		eval[bool](tb, "(document.getElementById('leave').click(), document.getElementById('yes').click(), true)")
	}},
	{"signin", "/queue/signin", "signin", func(f *fake) { f.is("check", problem(401, "unauthorized")) }, nil},
	{"soldout", "/queue/soldout", "soldout", func(f *fake) { f.is("check", problem(410, "sold-out")) }, nil},
	{"ended", "/queue/ended", "ended", func(f *fake) { f.is("check", problem(410, "ended")) }, nil},
	{"unknown", "/queue/unknown", "unknown", func(f *fake) { f.is("check", problem(404, "unknown-event")) }, nil},
	{"failed", "/queue/failed", "failed", func(f *fake) { f.is("check", problem(403, "refused")) }, nil},
	{"gate", "/vwr/gate", "waiting", func(f *fake) {
		f.is("assign", answer{status: 200, body: map[string]any{"requestId": "r1", "position": 182443}})
		f.is("turn", atGate(182443, 60500))
	}, func(tb *tab, f *fake) {
		tb.in("waiting")
		tb.advance(tb.next() * 9 / 10)
		f.is("turn", atGate(182443, 61000))
		tb.poll()
		tb.says("position", "121,443")
	}},
}

// TestBrowserGallery looks at every state as visitors see it: axe finds nothing,
// nothing is cut off or needs scrolling sideways, and each has a picture.
func TestBrowserGallery(t *testing.T) {
	all := os.Getenv("MILLRACE_GALLERY") == "all"
	f := start(t, queuepage.Config{Brand: office(t), SignIn: "/login?next={here}", Show: "/api/shows/{eventId}"}, queuepage.Config{Brand: office(t)})
	devices := []struct {
		name string
		device
		onlyAll bool
	}{
		{"phone-light", device{width: 390, height: 844}, false},
		{"desktop-dark", device{width: 1280, height: 860, dark: true}, false},
		{"phone-dark", device{width: 390, height: 844, dark: true}, true},
		{"desktop-light", device{width: 1280, height: 860}, true},
		{"narrow-light", device{width: 320, height: 640}, true},
		// 200 % of zoom leaves half the pixels.
		{"zoomed-dark", device{width: 640, height: 430, dark: true}, true},
	}
	for _, lang := range []string{"en", "ko"} {
		t.Run(lang, func(t *testing.T) {
			tb := open(t, f.URL, phone())
			for _, s := range states {
				s.set(f)
				tb.visit(s.path + "-" + lang + "?lang=" + lang)
				if s.then != nil {
					tb.until("document.body.dataset.view !== 'joining'")
					// Digits and texts that a state waits for are the same in both languages.
					s.then(tb, f)
				}
				tb.in(s.view)
				for i, d := range devices {
					if d.onlyAll && !all {
						continue
					}
					// Each language has one of the two devices, and each state both themes.
					if !all && (i == 0) == (lang == "ko") {
						continue
					}
					tb.wear(d.device)
					name := fmt.Sprintf("%s-%s-%s", s.name, d.name, lang)
					tb.sound(name)
					tb.shot(name)
				}
			}
		})
	}
}

// sound checks the rules that hold in every state.
func (tb *tab) sound(name string) {
	tb.Helper()
	if wide := eval[float64](tb, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide > 0 {
		tb.Errorf("%s: %v px wider than the window", name, wide)
	}
	if cut := eval[[]string](tb, `[...document.querySelectorAll("main *, header *, dialog[open] *")]
		.filter((e) => e.getClientRects().length > 0 && !e.closest("svg, .sr-only, .water") && e.id !== "pool" && (e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 && getComputedStyle(e).display !== "inline" || e.getBoundingClientRect().right > innerWidth + 1))
		.map((e) => e.tagName + "#" + e.id + " " + e.textContent.slice(0, 40))`); len(cut) > 0 {
		tb.Errorf("%s: cut off: %q", name, cut)
	}
	if raw := eval[[]string](tb, `[...document.querySelectorAll("main *, dialog *")].filter((e) => e.children.length === 0 && /\{\w+\}|undefined|NaN|^[a-z]+\.[a-z.]+$/.test(e.textContent)).map((e) => e.textContent)`); len(raw) > 0 {
		tb.Errorf("%s: texts that are none: %q", name, raw)
	}
	if !eval[bool](tb, "globalThis.axe !== undefined") {
		eval[bool](tb, chromiumtest.Axe+"; true")
	}
	eval[bool](tb, `(clock.thaw(), globalThis.found = null, axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })
		.then((r) => { globalThis.found = r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.html + " " + n.failureSummary).join(" | ")); globalThis.passed = r.passes.length; }, (e) => { globalThis.found = ["axe failed: " + e]; }), true)`)
	tb.until("globalThis.found !== null")
	for _, violation := range eval[[]string](tb, "globalThis.found") {
		tb.Errorf("%s: axe: %s", name, violation)
	}
	if passed := eval[int](tb, "globalThis.passed ?? 0"); passed < 15 {
		tb.Errorf("%s: axe has only %d rules passed: it has not looked", name, passed)
	}
	eval[bool](tb, "clock.freeze()")
}

// TestBrowserPlainBrand looks at the page with the zero Brand.
func TestBrowserPlainBrand(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", queued(4213))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/e")
	tb.in("waiting")
	for name, dark := range map[string]bool{"plain-light": false, "plain-dark": true} {
		tb.wear(device{width: 390, height: 844, dark: dark})
		tb.sound(name)
		tb.shot(name)
	}
}

// TestBrowserAxeFinds shows that the check can fail.
func TestBrowserAxeFinds(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", queued(12))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/e")
	tb.in("waiting")
	eval[bool](tb, "(document.getElementById('leave').textContent = '', true)")
	eval[bool](tb, chromiumtest.Axe+"; true")
	eval[bool](tb, "(clock.thaw(), axe.run().then((r) => { globalThis.found = r.violations.map((v) => v.id).join(); }), true)")
	tb.until("globalThis.found !== undefined")
	if found := eval[string](tb, "globalThis.found"); !strings.Contains(found, "button-name") {
		t.Errorf("axe found %q of a button without a name", found)
	}
}
