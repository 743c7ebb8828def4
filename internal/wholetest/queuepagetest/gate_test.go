package queuepagetest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/queue/queuepage"
)

// TestBrowserGate asks for a number once, waits for it, and goes on into the line.
func TestBrowserGate(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("assign", answer{status: 200, body: map[string]any{"requestId": "r/1", "position": 5001}})
	f.is("turn", atGate(5001, 1000))
	f.is("check", queued(31))
	tb := open(t, f.URL, phone())
	tb.visit("/vwr/e?next=/seats")
	tb.says("position", "4,001")
	assert.Equal(t, "4,000", tb.text("ahead"), "ahead")
	assert.True(t, eval[bool](tb, "document.getElementById('behind').parentNode.hidden"), "the gate does not know who is behind")
	if text := tb.text("wait"); text != "not known yet" {
		t.Errorf("the wait is %q before anything is known", text)
	}
	f.is("turn", atGate(5001, 1500))
	for range 3 {
		tb.poll()
		tb.says("position", "3,501")
		tb.next()
	}
	// 500 in 6 s: the rest takes 42 s.
	tb.says("wait", "under a minute")
	tb.reload()
	tb.says("position", "3,501")
	if heard := f.heard("assign"); len(heard) != 1 {
		t.Errorf("asked for a number %d times", len(heard))
	}
	for _, heard := range f.heard("turn") {
		assert.Equal(t, "turn e r/1", heard, "asked")
	}
	f.is("turn", busy(0))
	tb.poll()
	tb.until("document.body.dataset.trouble === 'busy'")
	f.is("turn", atGate(5001, 6000))
	tb.poll()
	tb.until("location.pathname === '/queue/e'")
	tb.says("position", "31")
	assert.Equal(t, "?next=%2Fseats", eval[string](tb, "location.search"), "went on with")
}

// TestBrowserGateLost asks for a new number when the gate does not know the old one
// any more, and says so.
func TestBrowserGateLost(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("assign", answer{status: 200, body: map[string]any{"requestId": "r1", "position": 100}})
	f.is("turn", atGate(100, 10))
	tb := open(t, f.URL, phone())
	tb.visit("/vwr/e")
	tb.says("position", "90")
	f.is("assign", answer{status: 200, body: map[string]any{"requestId": "r2", "position": 200}})
	f.is("turn", problem(410, "position-lost"))
	tb.poll()
	if next := tb.next(); next < time.Second {
		t.Errorf("a new number is asked for in %v", next)
	}
	f.is("turn", atGate(200, 10))
	tb.poll()
	tb.says("position", "190")
	tb.says("renewed", "You have a new place: the earlier one is no longer there.")
	if said := strings.Join(tb.said(), " "); strings.Count(said, "You have a new place") != 1 {
		t.Errorf("announced %q", said)
	}
	if heard := f.heard("turn"); heard[len(heard)-1] != "turn e r2" || len(f.heard("assign")) != 2 {
		t.Errorf("asked %q and %q", heard, f.heard("assign"))
	}
	// Another tab has a new number before this one hears that the old one is lost.
	f.is("turn", problem(410, "position-lost"))
	eval[bool](tb, `(() => {
		const { fetch } = globalThis;
		globalThis.fetch = async (...what) => {
			globalThis.fetch = fetch;
			const answer = await fetch(...what);
			localStorage.setItem("queuepage:gate:e", JSON.stringify({ request: "r3" }));
			return answer;
		};
		return true;
	})()`)
	tb.poll()
	tb.next()
	f.is("turn", atGate(150, 10))
	tb.poll()
	tb.says("position", "140")
	if heard := f.heard("turn"); heard[len(heard)-1] != "turn e r3" || len(f.heard("assign")) != 2 {
		t.Errorf("asked %q and %q", heard, f.heard("assign"))
	}
}

// TestBrowserGateEnds shows the gate's messages in place of a number.
func TestBrowserGateEnds(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", queued(4))
	tb := open(t, f.URL, phone())
	for view, a := range map[string]answer{
		"soldout": problem(410, "sold-out"),
		"ended":   problem(410, "ended"),
		"unknown": problem(404, "unknown-event"),
	} {
		f.is("assign", a)
		tb.visit("/vwr/" + view)
		tb.in(view)
	}
	// A gate that is off sends on.
	f.is("assign", answer{status: 409, body: map[string]any{"type": "/problems/gate-off", "redirectTo": "/queue/off"}})
	tb.visit("/vwr/off")
	tb.until("location.pathname === '/queue/off'")
	tb.says("position", "4")
	// So does a guard that answers with another page.
	f.is("assign", answer{status: 303, location: "/queue/guarded"})
	tb.visit("/vwr/guarded")
	tb.until("location.pathname === '/queue/guarded'")
	tb.says("position", "4")
}

// TestBrowserGateLeave forgets the number.
func TestBrowserGateLeave(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("assign", answer{status: 200, body: map[string]any{"requestId": "r1", "position": 100}})
	f.is("turn", atGate(100, 10))
	tb := open(t, f.URL, phone())
	tb.visit("/vwr/e")
	tb.says("position", "90")
	assert.Contains(t, tb.text("promise"), "kept for 24 hours", "the gate promises")
	eval[bool](tb, "(document.getElementById('leave').click(), document.getElementById('yes').click(), true)")
	tb.in("left")
	eval[bool](tb, "(document.getElementById('again').click(), true)")
	tb.in("waiting")
	if n := len(f.heard("assign")); n != 2 {
		t.Errorf("asked for a number %d times, want 2", n)
	}
}

// TestBrowserGateKeepsNothing asks for one number in a browser that can keep none, or that
// refuses locks together with cookies.
func TestBrowserGateKeepsNothing(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("assign", answer{status: 200, body: map[string]any{"requestId": "r1", "position": 100}})
	f.is("turn", atGate(100, 10))
	for name, script := range map[string]string{
		"full": `const { setItem } = Storage.prototype; Storage.prototype.setItem = function (...what) {
			if (this === localStorage) throw new DOMException("full", "QuotaExceededError");
			setItem.apply(this, what);
		}`,
		"locks": `navigator.locks.request = async () => { throw new DOMException("no", "SecurityError"); }`,
	} {
		before := len(f.heard("assign"))
		tb := open(t, f.URL, phone())
		tb.before(script)
		tb.visit("/vwr/e")
		tb.says("position", "90")
		tb.poll()
		tb.next()
		if n := len(f.heard("assign")) - before; n != 1 {
			t.Errorf("%s: asked for a number %d times", name, n)
		}
	}
}
