package queuepagetest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/queuepage"
)

// reach is a browser whose visitor allows notifications when asked, and that can hold
// the screen. What the page does with them is in the object.
const reach = `globalThis.reach = { asked: 0, notes: [], locks: 0, held: 0 };
	globalThis.Notification = class {
		static permission = sessionStorage.getItem("test:notes") ?? "default";
		static async requestPermission() {
			reach.asked += 1;
			sessionStorage.setItem("test:notes", Notification.permission = "granted");
			return "granted";
		}
		constructor(title, more) { reach.notes.push(title + ": " + more.body); }
		close() {}
	};
	Object.defineProperty(navigator, "wakeLock", { configurable: true, value: { async request(kind) {
		if (document.hidden || kind !== "screen") throw new DOMException("hidden", "NotAllowedError");
		reach.locks += 1;
		reach.held += 1;
		const lock = { onrelease: null, async release() {
			document.removeEventListener("visibilitychange", released);
			reach.held -= 1;
			lock.onrelease?.();
		} };
		const released = () => { if (document.hidden) lock.release(); };
		document.addEventListener("visibilitychange", released);
		return lock;
	} } });`

func icon(tb *tab) string {
	tb.Helper()
	return eval[string](tb, "decodeURIComponent(document.querySelector('[rel=icon]').href).replace(/.*<text[^>]*>([^<]*)<.*/, '$1')")
}

// TestBrowserAsleepForTenMinutes: a phone whose tab is hidden for ten minutes keeps
// its place in a room that forgets visitors that are silent for 200 s, and tells its
// visitor the turn.
func TestBrowserAsleepForTenMinutes(t *testing.T) {
	s := openSite(t)
	post := func(user, what string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/api/queue/"+what+"/show", http.NoBody)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+user)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		if answer.Body.Close(); answer.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: %s", user, what, answer.Status)
		}
	}
	rules := driver.Rules{Threshold: 1, Active: 10 * time.Minute, Seen: asleep, NoShow: 150 * time.Second, Tick: time.Second, Batch: 1, SweepEvery: time.Second, Settle: time.Minute}
	sweep := func() (removed int) {
		t.Helper()
		swept, err := s.store.Sweep(t.Context(), "show", rules, 0)
		require.NoError(t, err)
		return swept.Removed
	}
	post("alice", "check")
	tb := open(t, s.url, phone())
	tb.before(reach)
	tb.before(`localStorage.setItem("member", "bob")`)
	tb.visit("/queue/show?lang=en")
	tb.says("position", "1")
	post("silent", "check") // behind, and never heard of again
	if text := tb.text("kept"); !strings.Contains(text, "kept for 3 minutes") {
		t.Errorf("the room keeps places for %v, and the page says %q", asleep, text)
	}
	tb.until("reach.held === 1")
	assert.Equal(t, 0, eval[int](tb, "reach.asked"), "the page asked for notifications by itself")
	eval[bool](tb, "(document.getElementById('notify').click(), true)")
	tb.says("noted", "You get a notification at your turn.")
	tb.next()
	tb.hide(true)
	removed := 0
	for minute := range 9 {
		if next := tb.next(); next > time.Minute {
			t.Fatalf("after %d minutes the next poll of a hidden tab is in %v", minute, next)
		}
		s.ahead.Add(int64(time.Minute))
		post("alice", "heartbeat")
		tb.advance(time.Minute)
		tb.next()
		removed += sweep()
	}
	assert.Equal(t, 1, removed, "places were forgotten, want that of the silent one")
	tb.says("position", "1")
	assert.Equal(t, "1", icon(tb), "the icon")
	if eval[int](tb, "reach.held") != 0 || len(eval[[]string](tb, "reach.notes")) != 0 {
		t.Errorf("in a hidden tab, and before the turn: %v", eval[map[string]any](tb, "reach"))
	}
	s.ahead.Add(int64(90 * time.Second)) // alice's ten minutes are over
	for tries := 0; !eval[bool](tb, "document.body.dataset.view === 'turn'"); tries++ {
		if tries > 100 {
			t.Fatal("the turn does not come")
		}
		tb.advance(time.Minute)
		tb.until("clock.idle()")
	}
	if got := eval[[]string](tb, "reach.notes"); len(got) != 1 || !strings.HasPrefix(got[0], "It is your turn: ") {
		t.Errorf("the turn is told as %q", got)
	}
	if got, title := icon(tb), eval[string](tb, "document.title"); got != "!" || !strings.HasPrefix(title, "It is your turn") {
		t.Errorf("the icon tells %q, and the title %q", got, title)
	}
	tb.sound("turn-asleep")
	tb.hide(false)
	tb.until("reach.held === 1 && reach.locks === 2")
	eval[bool](tb, "(document.getElementById('leave').click(), document.getElementById('yes').click(), true)")
	tb.in("left")
	tb.until("reach.held === 0")
}

// TestBrowserIcon draws the place on the icon, in the colours of the brand.
func TestBrowserIcon(t *testing.T) {
	f := start(t, queuepage.Config{Brand: office(t)}, queuepage.Config{})
	f.is("check", queued(130_000))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/e")
	tb.says("position", "130,000")
	for position, want := range map[int]string{99_400: "99k", 4213: "4k", 999: "999", 42: "42", 9: "9"} {
		f.is("check", queued(position))
		tb.poll()
		tb.says("position", thousands(position))
		if got := icon(tb); got != want {
			t.Errorf("at position %d the icon tells %q, want %q", position, got, want)
		}
	}
	assert.Contains(t, eval[string](tb, "decodeURIComponent(document.querySelector('[rel=icon]').href)"), `fill="rgb(`, "the icon")
	f.is("check", problem(410, "ended"))
	tb.poll()
	tb.in("ended")
	if got := eval[string](tb, "document.querySelector('[rel=icon]').href"); !strings.Contains(got, "path") {
		t.Errorf("after the sale the icon is %q, want the mark of the brand", got)
	}
}

// TestBrowserOutOfReach: the page works where it may not notify, cannot, or must not
// hold the screen.
func TestBrowserOutOfReach(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		offers bool
	}{
		"nothing of it":   {`delete globalThis.Notification; delete Navigator.prototype.wakeLock`, false},
		"a no before":     {reach + `; Notification.permission = "denied"`, false},
		"a no when asked": {reach + `; Notification.requestPermission = async () => Notification.permission = "denied"`, true},
		"an old browser":  {reach + `; Notification.requestPermission = undefined`, true},
		"none by a page":  {reach + `; Notification = class extends Notification { constructor() { throw new TypeError("Illegal constructor") } }; Notification.permission = "granted"`, false},
		"no power":        {reach + `; navigator.wakeLock.request = async () => { throw new DOMException("low", "NotAllowedError") }`, true},
	} {
		t.Run(name, func(t *testing.T) {
			lang := map[bool]string{true: "en", false: "ko"}[c.offers]
			f := start(t, queuepage.Config{}, queuepage.Config{})
			f.is("check", queued(5, "keep", 10799))
			tb := open(t, f.URL, phone())
			tb.before(c.script)
			tb.visit("/queue/e?lang=" + lang)
			tb.says("position", "5")
			if text := tb.text("kept"); !strings.Contains(text, "2 hours") && !strings.Contains(text, "2시간") {
				t.Errorf("a place is kept for almost 3 hours, and the page says %q, want no more than 2", text)
			}
			assert.Equal(t, c.offers, eval[bool](tb, "!document.getElementById('notify').hidden"), "it offers a notification")
			tb.sound(fmt.Sprintf("reach-%s", strings.ReplaceAll(name, " ", "-")))
			tb.shot(fmt.Sprintf("reach-%s", strings.ReplaceAll(name, " ", "-")))
			if c.offers {
				eval[bool](tb, "(document.getElementById('notify').click(), true)")
			}
			tb.next()
			tb.hide(true)
			f.is("check", admitted(600))
			tb.poll()
			tb.in("turn")
		})
	}
}
