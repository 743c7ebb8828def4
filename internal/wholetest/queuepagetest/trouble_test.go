package queuepagetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/queue/queuepage"
)

// TestBrowserBusy makes the room refuse: the page says so, keeps its content, waits
// as long as it is told and longer each time, and recovers by itself.
func TestBrowserBusy(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", queued(77))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/e")
	tb.says("position", "77")
	f.is("check", busy(20))
	tb.poll()
	tb.until("document.body.dataset.trouble === 'busy'")
	if next := tb.next(); next < 20*time.Second || next > 26*time.Second {
		t.Errorf("after Retry-After: 20 the page asks in %v", next)
	}
	assert.Equal(t, "77", tb.text("position"), "the place is shown as")
	if title := eval[string](tb, "document.title"); !strings.HasPrefix(title, "77 · Reconnecting · ") {
		t.Errorf("the tab is called %q", title)
	}
	tb.hide(true)
	tb.hide(false) // a visible page does not poll sooner, nor does a network that is back
	eval[bool](tb, "dispatchEvent(new Event('online'))")
	if next := tb.next(); next < 20*time.Second {
		t.Errorf("Retry-After is forgotten: %v", next)
	}
	f.is("check", busy(0))
	tb.poll()
	var waits []time.Duration
	for range 6 {
		waits = append(waits, tb.next())
		tb.poll()
	}
	for i, least := range []time.Duration{2, 4, 8, 16, 30, 30} {
		if waits[i] < least*time.Second || waits[i] > least*time.Second*3/2 {
			t.Errorf("wait %d is %v, want %d s and up to half as much more: %v", i, waits[i], least, waits)
		}
	}
	tb.next()
	// The clock of the page is ahead by now.
	f.is("check", answer{status: 503, until: time.Now().Add(200 * time.Second)})
	tb.poll()
	if next := tb.next(); next < 198*time.Second {
		t.Errorf("at a Retry-After of 200 s as a date the page asks in %v", next)
	}
	f.is("check", queued(60))
	tb.poll()
	tb.says("position", "60")
	assert.Equal(t, 2*time.Second, tb.next(), "after the recovery the page polls in")
	said := tb.said()
	if len(said) != 3 || !strings.HasPrefix(said[1], "We cannot reach the waiting room") || !strings.HasPrefix(said[2], "The connection is back.") {
		t.Errorf("announced %q", said)
	}
	if heard := f.heard("check"); heard[len(heard)-1] != "check e ticket-77" {
		t.Errorf("the ticket was lost: %q", heard[len(heard)-1])
	}
}

// TestBrowserAnswersThatAreNone makes a proxy between the page and the room answer
// in its place, or not at all.
func TestBrowserAnswersThatAreNone(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	tb := open(t, f.URL, phone())
	for i, a := range []answer{{status: 502}, {status: 200}, {status: 404}, {status: 429, retryAfter: 9}, {status: 500}, {status: 408}} {
		f.is("check", a)
		tb.visit(fmt.Sprintf("/queue/e-%d", i))
		tb.until("document.body.dataset.trouble === 'busy' && document.body.dataset.view === 'joining'")
		if next := tb.next(); next < 2*time.Second || a.retryAfter > 0 && next < 9*time.Second {
			t.Errorf("after %d the page asks in %v", a.status, next)
		}
	}
	f.is("check", answer{hang: true})
	tb.visit("/queue/slow")
	tb.until("!clock.idle() && clock.delays().length === 1")
	tb.advance(15 * time.Second)
	tb.until("document.body.dataset.trouble === 'busy'")
	f.is("check", queued(3))
	tb.poll()
	tb.says("position", "3")
}

// TestBrowserOffline notices an outage, and goes on as soon as the network is back.
func TestBrowserOffline(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", queued(5))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/e")
	tb.says("position", "5")
	offline := func(off bool) {
		set(tb, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: off, DownloadThroughput: -1, UploadThroughput: -1})
	}
	set(tb, network.Enable, network.EnableParams{})
	f.is("check", answer{drop: true})
	offline(true)
	tb.until("document.body.dataset.trouble === 'offline'")
	tb.poll()
	tb.next()
	tb.until("document.body.dataset.trouble === 'offline'")
	assert.Equal(t, "5", tb.text("position"), "the place is shown as")
	f.is("check", queued(4))
	offline(false)
	tb.until("clock.delays()[0] <= 2500")
	tb.poll()
	tb.says("position", "4")
	tb.until("document.body.dataset.trouble === ''")
}

// TestBrowserEnds shows each end, and polls no more.
func TestBrowserEnds(t *testing.T) {
	f := start(t, queuepage.Config{Brand: queuepage.Brand{Home: "/start"}}, queuepage.Config{})
	tb := open(t, f.URL, phone())
	for _, c := range []struct {
		a    answer
		path string
		view string
	}{
		{problem(410, "sold-out"), "/queue/a", "soldout"},
		{problem(409, "soldout"), "/queue/b", "soldout"},
		{problem(410, "gone"), "/queue/c", "ended"},
		{problem(404, "unknown-event"), "/queue/d", "unknown"},
		{problem(400, "bad"), "/queue/e", "failed"},
		{answer{status: 403, body: map[string]any{"error": "no", "redirectTo": "https://evil.example/"}}, "/queue/f", "failed"},
		{answer{status: 403, body: map[string]any{"error": "no", "redirectTo": "//evil.example/"}}, "/queue/g", "failed"},
		{answer{status: 403, body: map[string]any{"error": "no", "redirectTo": `/\evil.example`}}, "/queue/h", "failed"},
		{answer{status: 403, body: map[string]any{"error": "no", "redirectTo": "/queue/i"}}, "/queue/i", "failed"},
		{gone(), "/queue/j", "passed"},
		{problem(500, "unused"), "/queue/a%2Fb", "unknown"},
		{problem(500, "unused"), "/queue", "unknown"},
	} {
		f.is("check", c.a)
		tb.visit(c.path)
		tb.in(c.view)
		tb.until("clock.idle()")
		assert.Equalf(t, 0, eval[int](tb, "clock.delays().length"), "%s: still polling", c.path)
		if href := eval[string](tb, "document.getElementById('home').href"); href != f.URL+"/start" {
			t.Errorf("%s: home is %q", c.path, href)
		}
	}
	for _, heard := range f.heard("check") {
		assert.NotContainsf(t, heard, "/", "asked for %q", heard)
	}
	// A path that would be a host, taken by itself, is a path of this site.
	f.is("check", answer{status: 403, body: map[string]any{"error": "no", "redirectTo": "/.//evil.example/"}})
	tb.visit("/queue/k")
	tb.in("elsewhere")
	assert.Equal(t, f.URL, eval[string](tb, "location.origin"), "went to")
	// A visitor who tries again after a failure is in line.
	f.is("check", problem(400, "bad"))
	tb.visit("/queue?event=plain")
	tb.in("failed")
	f.is("check", queued(2))
	eval[bool](tb, "(document.getElementById('again').click(), true)")
	tb.says("position", "2")
}

// TestBrowserSignIn leads to the sign-in and back, and goes on when the visitor has
// signed in meanwhile, with the token of this site.
func TestBrowserSignIn(t *testing.T) {
	f := start(t, queuepage.Config{SignIn: "/login?next={here}", BearerKey: "shop.session", BearerField: "token"}, queuepage.Config{})
	f.is("check", problem(401, "unauthorized"))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/e?next=%2Fseats%3Fa%3D1")
	tb.in("signin")
	if href := eval[string](tb, "document.getElementById('signin').href"); href != f.URL+"/login?next=%2Fqueue%2Fe%3Fnext%3D%252Fseats%253Fa%253D1" {
		t.Errorf("the sign-in is at %q", href)
	}
	f.is("check", queued(9))
	eval[bool](tb, `(localStorage.setItem("shop.session", "{broken"), dispatchEvent(new StorageEvent("storage", { key: "shop.session" })), true)`)
	tb.in("signin")
	eval[bool](tb, `(localStorage.setItem("shop.session", JSON.stringify({ token: "t0ken" })), dispatchEvent(new StorageEvent("storage", { key: "shop.session" })), true)`)
	tb.says("position", "9")
	if heard := f.heard("check"); heard[len(heard)-1] != "check e Bearer t0ken" {
		t.Errorf("asked %q", heard[len(heard)-1])
	}
}

// TestBrowserWithoutStorage works in a browser that refuses storage.
func TestBrowserWithoutStorage(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", queued(9))
	tb := open(t, f.URL, phone())
	tb.before(`for (const name of ["localStorage", "sessionStorage"]) {
		Object.defineProperty(globalThis, name, { get() { throw new DOMException("no", "SecurityError"); } });
	}`)
	tb.visit("/queue/e")
	tb.says("position", "9")
	f.is("check", queued(8))
	tb.poll()
	tb.says("position", "8")
	assert.Equal(t, "check e ticket-9", f.heard("check")[1], "asked")
}
