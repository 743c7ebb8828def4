package queuepagetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/queue/queuepage"
)

// TestBrowserTurn enters by itself while the page is visible, and not before.
func TestBrowserTurn(t *testing.T) {
	f := start(t, queuepage.Config{EntryKey: "shop.entry.{eventId}"}, queuepage.Config{})
	f.is("check", queued(2))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/e?lang=en")
	tb.says("position", "2")
	tb.next()
	tb.hide(true)
	f.is("check", admitted(150))
	f.is("heartbeat", admitted(590))
	tb.poll()
	tb.in("turn")
	assert.Equal(t, "It is your turn · Waiting room", eval[string](tb, "document.title"), "the tab is called")
	tb.says("left", "2:30")
	if said := tb.said(); len(said) < 2 || said[len(said)-1] != "It is your turn. Come in! The place is reserved for you until the time is over." {
		t.Errorf("announced %q", said)
	}
	tb.until("clock.idle()")
	tb.advance(20 * time.Second)
	tb.in("turn")
	tb.says("left", "2:10")
	tb.advance(40 * time.Second) // a hidden tab gives a sign of life once a minute
	tb.says("left", "9:50")
	if len(f.heard("heartbeat")) != 1 || len(f.heard("check")) != 2 {
		t.Errorf("asked %q and %q", f.heard("check"), f.heard("heartbeat"))
	}
	tb.hide(false)
	tb.says("moving", "You will be taken in automatically in 5 seconds.")
	tb.until("clock.idle()")
	tb.advance(2 * time.Second)
	tb.says("moving", "You will be taken in automatically in 3 seconds.")
	tb.hide(true)
	tb.until("clock.idle()")
	tb.advance(10 * time.Second)
	tb.in("turn")
	tb.hide(false)
	tb.until("clock.idle()")
	tb.advance(4 * time.Second)
	tb.says("moving", "You will be taken in automatically in 1 second.")
	tb.until("clock.idle()")
	tb.advance(time.Second)
	tb.in("elsewhere")
	assert.Equal(t, "/events/e?lang=en", eval[string](tb, "location.pathname + location.search"), "entered")
	assert.Equal(t, "entry-token", eval[string](tb, "sessionStorage.getItem('shop.entry.e')"), "the entry token is kept as")
}

// TestBrowserTurnByHand lets a visitor take time, up to the end of the turn.
func TestBrowserTurnByHand(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", queued(2))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/e?next=/seats%3Frow%3DA")
	tb.says("position", "2")
	slowly := admitted(30)
	slowly.body["nextPoll"] = 60
	f.is("check", slowly)
	tb.poll()
	tb.in("turn")
	tb.focus("stay")
	tb.press("\r")
	tb.says("moving", "Enter when you are ready.")
	tb.until("clock.idle()")
	tb.advance(20 * time.Second)
	tb.in("turn")
	tb.says("left", "0:10")
	if said := tb.said(); said[len(said)-1] != "It is your turn. Come in! The place is reserved for you until the time is over. One minute left to enter." {
		t.Errorf("announced %q", said)
	}
	tb.reload() // a visitor who reloads is asked again, and does not enter by itself
	tb.in("turn")
	tb.focus("enter-now")
	tb.press("\r")
	tb.in("elsewhere")
	assert.Equal(t, "/seats?row=A", eval[string](tb, "location.pathname + location.search"), "entered")
}

// TestBrowserTurnPassed says when it is too late.
func TestBrowserTurnPassed(t *testing.T) {
	f := start(t, queuepage.Config{MoveOn: -1}, queuepage.Config{})
	f.is("check", queued(2))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/e")
	tb.says("position", "2")
	f.is("check", admitted(600))
	f.is("heartbeat", admitted(596))
	tb.poll()
	tb.in("turn")
	tb.says("moving", "Enter when you are ready.")
	tb.until("clock.idle()")
	f.is("heartbeat", gone())
	tb.advance(5 * time.Second)
	tb.in("passed")
	f.is("check", queued(300))
	eval[bool](tb, "(document.getElementById('again').click(), true)")
	tb.says("position", "300")
	if heard := f.heard("check"); heard[len(heard)-1] != "check e" {
		t.Errorf("lined up again with %q", heard[len(heard)-1])
	}
}

// TestBrowserStraightIn does not hold up visitors who need not wait, nor follow an
// address to another site.
func TestBrowserStraightIn(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", admitted(600))
	tb := open(t, f.URL, phone())
	for next, want := range map[string]string{
		"":                                     "/events/show%201",
		"?next=/seats/7%23top":                 "/seats/7#top",
		"?next=//evil.example":                 "/events/show%201",
		"?next=https://evil.example/":          "/events/show%201",
		"?next=/%5Cevil.example":               "/events/show%201",
		"?next=/%09/evil.example":              "/events/show%201",
		"?next=javascript:alert(1)":            "/events/show%201",
		"?next=/.//evil.example/":              "/queue/show%201",
		"?next=/queue/show%25201":              "/events/show%201",
		"?next=%00":                            "/events/show%201",
		"?event=other&next=data:text/html,hey": "/events/show%201",
	} {
		tb.visit("/start")
		eval[bool](tb, "(sessionStorage.clear(), true)")
		tb.visit("/queue/show%201" + next)
		tb.until("location.href !== 'about:blank' && document.readyState === 'complete' && (document.body.dataset.view === 'elsewhere' || document.body.dataset.view === 'turn')")
		if where := eval[string](tb, "location.href"); where != f.URL+want && !(want == "/queue/show%201" && where == f.URL+want+next) {
			t.Errorf("%q led to %q, want %q", next, where, want)
		}
	}
	assert.Equal(t, "check show 1", f.heard("check")[0], "asked")
}

// TestBrowserToAndFro stops between two pages that send each other the visitor.
func TestBrowserToAndFro(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", answer{status: 403, body: map[string]any{"error": "no", "redirectTo": "/vwr/e"}})
	f.is("assign", answer{status: 200, body: map[string]any{"requestId": "r1", "position": 1}})
	f.is("turn", atGate(1, 1))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/e")
	tb.in("failed")
	if n := len(f.heard("check")) + len(f.heard("turn")); n > 8 {
		t.Errorf("went to and fro %d times", n)
	}
}
