package queuepagetest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue/queuepage"
)

func level(tb *tab) float64 {
	tb.Helper()
	return eval[float64](tb, "Number(document.getElementById('bar').style.getPropertyValue('--level'))")
}

// TestBrowserLine goes from the end of the line to the front. It checks the page,
// the polls with their times, and the few announcements to a screen reader.
func TestBrowserLine(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", queued(5001))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/show-1")
	tb.says("position", "5,001")
	for id, want := range map[string]string{"title": "You are in line", "ahead": "5,000", "behind": "4,812", "wait": "about 7–11 minutes"} {
		if got := tb.text(id); got != want {
			t.Errorf("#%s is %q, want %q", id, got, want)
		}
	}
	assert.Equal(t, "5,001 · You are in line · Waiting room", eval[string](tb, "document.title"), "the tab is called")
	if text := tb.text("updated"); !regexp.MustCompile(`^Last updated \d{1,2}:\d{2}:\d{2}\s[AP]M$`).MatchString(text) {
		t.Errorf("the time is told as %q", text)
	}
	if text := tb.text("promise"); !strings.Contains(text, "kept for 10 minutes") || !strings.Contains(text, "Refreshing keeps your place") {
		t.Errorf("the page promises %q", text)
	}
	if next := tb.next(); next != 2*time.Second {
		t.Errorf("the next poll is in %v, want the 2 s that the server said", next)
	}
	for _, position := range []int{4000, 2400, 1001, 1000, 999, 101, 60, 11, 9, 1, 1} {
		f.is("check", queued(position))
		tb.poll()
		tb.says("position", thousands(position))
	}
	tb.next()
	want := []string{
		"You are in line. 5,000 people are ahead of you. about 7–11 minutes",
		"You are halfway there. 2,399 people are ahead of you.",
		"1,000 people are ahead of you.",
		"100 people are ahead of you.",
		"10 people are ahead of you.",
		"You are next.",
	}
	said := tb.said()
	require.Lenf(t, said, len(want), "announced %d times", len(said))
	for i := range want {
		if !strings.HasPrefix(said[i], want[i]) {
			t.Errorf("announced %q, want %q", said[i], want[i])
		}
	}
	heard := f.heard("check")
	if heard[0] != "check show-1" || heard[1] != "check show-1 ticket-5001" || heard[len(heard)-1] != "check show-1 ticket-1" {
		t.Errorf("the ticket was not sent back: %q", heard)
	}
}

// TestBrowserPlaces: the number of places taken is shown beside the line, and is
// not made up where it is not known.
func TestBrowserPlaces(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", queued(40))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/show-1")
	tb.says("places", "998 / 1,000")
	position := 40
	for name, c := range map[string]struct {
		more []any
		want string
	}{
		"all of them":       {[]any{"currentUsers", 1000}, "1,000 / 1,000"},
		"none":              {[]any{"currentUsers", 0}, "0 / 1,000"},
		"a lower threshold": {[]any{"threshold", 500}, "998 / 500"},
		"not told":          {[]any{"currentUsers", nil}, ""},
		"no threshold":      {[]any{"threshold", nil}, ""},
		"a threshold of 0":  {[]any{"threshold", 0}, ""},
		"no numbers":        {[]any{"currentUsers", "many"}, ""},
		"below none":        {[]any{"currentUsers", -1}, ""},
		"settling":          {[]any{"settling", 30}, ""},
		"paused":            {[]any{"paused", true}, "998 / 1,000"},
	} {
		position--
		f.is("check", queued(position, c.more...))
		tb.poll()
		tb.says("position", fmt.Sprint(position))
		assert.Equalf(t, c.want, tb.text("places"), "%s", name)
		if hidden := eval[bool](tb, "document.getElementById('places').parentNode.hidden"); hidden != (c.want == "") {
			t.Errorf("%s: hidden %t", name, hidden)
		}
	}
	f.is("check", queued(3))
	tb.poll()
	tb.says("places", "998 / 1,000")
	f.is("check", busy(5))
	tb.poll()
	tb.until("document.body.dataset.trouble === 'busy'")
	assert.Equal(t, "", tb.text("places"), "without the room the page shows")
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// TestBrowserReload keeps the place, the bar and the estimate over reloads, also
// during an outage of the room, and announces nothing twice.
func TestBrowserReload(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", queued(200))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/e")
	tb.says("position", "200")
	f.is("check", queued(50))
	tb.poll()
	tb.says("position", "50")
	tb.next()
	before, said, wait := level(tb), tb.said(), tb.text("wait")
	if before < 0.74 || before > 0.76 {
		t.Errorf("the bar is at %v of the way, want 3/4", before)
	}

	f.is("check", queued(70, "estimatedWait", 4000)) // another process knew less
	tb.reload()
	tb.says("position", "70")
	if after := level(tb); after != before {
		t.Errorf("the bar went from %v to %v", before, after)
	}
	if now := tb.text("wait"); now != wait {
		t.Errorf("the wait jumped from %q to %q", wait, now)
	}
	if heard := f.heard("check"); heard[len(heard)-1] != "check e ticket-50" {
		t.Errorf("after a reload the page asked %q", heard[len(heard)-1])
	}

	f.is("check", busy(5))
	tb.reload()
	tb.until("document.body.dataset.trouble === 'busy'")
	if text := tb.text("position"); text != "70" || level(tb) != before {
		t.Errorf("without the room the page shows %q at %v, want what it knew", text, level(tb))
	}
	f.is("check", queued(20))
	tb.poll()
	tb.says("position", "20")
	if now := level(tb); now <= before {
		t.Errorf("the bar stays at %v", now)
	}
	after := tb.said()[len(said):]
	if slices.ContainsFunc(after, func(text string) bool {
		return strings.Contains(text, "halfway") || strings.Contains(text, "You are in line")
	}) {
		t.Errorf("announced again: %q", after)
	}
}

// TestBrowserNewPlace says when the old place is gone, and starts over.
func TestBrowserNewPlace(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", queued(60))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/e")
	tb.says("position", "60")
	f.is("check", queued(100)) // a few more are no new place
	tb.poll()
	tb.says("position", "100")
	assert.True(t, eval[bool](tb, "document.getElementById('renewed').hidden"), "a position that is a little higher counts as a new place")
	f.is("check", queued(9000))
	tb.poll()
	tb.says("position", "9,000")
	tb.says("renewed", "You have a new place: the earlier one is no longer there.")
	if now := level(tb); now > 0.01 {
		t.Errorf("the new way begins at %v", now)
	}
	if said := tb.said(); !strings.HasPrefix(said[len(said)-1], "You have a new place: the earlier one is no longer there. You are in line.") {
		t.Errorf("announced %q", said)
	}
	assert.Equal(t, "about 12–19 minutes", tb.text("wait"), "the new wait")
}

// TestBrowserCalmEstimate shows a range that does not follow each jump.
func TestBrowserCalmEstimate(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", queued(9000, "estimatedWait", 600))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/e")
	tb.says("wait", "about 8–13 minutes")
	for i, seconds := range []any{1500, 300, 900, 400, 1200, 590} {
		f.is("check", queued(8900-i, "estimatedWait", seconds))
		tb.poll()
		tb.says("position", thousands(8900-i))
		if wait := tb.text("wait"); wait != "about 8–13 minutes" {
			t.Errorf("the wait became %q at an estimate of %v s", wait, seconds)
		}
	}
	// The page shows an estimate that stays the same.
	f.is("check", queued(8000, "estimatedWait", 180, "nextPoll", 60))
	for range 5 {
		tb.poll()
		tb.next()
	}
	tb.until("document.getElementById('wait').textContent === 'about 2–4 minutes'")
	f.is("check", queued(8000, "estimatedWait", nil))
	tb.poll()
	tb.says("wait", "not known yet")
	f.is("check", queued(8000, "estimatedWait", 600, "estimatedWaitLow", 300, "estimatedWaitHigh", 1200)) // nobody has left yet
	tb.poll()
	tb.says("wait", "about 5–20 minutes")
	f.is("check", queued(8000, "estimatedWait", nil))
	tb.poll()
	tb.says("wait", "not known yet")
	f.is("check", queued(8000, "estimatedWait", 20000))
	tb.poll()
	tb.says("wait", "about 4–7 hours")
	f.is("check", queued(8000, "estimatedWait", nil, "paused", true))
	tb.poll()
	tb.says("wait", "not known yet")
}

// TestBrowserPause says when the line stands still, and when it moves again.
func TestBrowserPause(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", queued(30))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/e")
	tb.in("waiting")
	f.is("check", queued(30, "paused", true, "estimatedWait", nil))
	tb.poll()
	tb.in("paused")
	tb.poll()
	tb.next()
	f.is("check", queued(30))
	tb.poll()
	tb.in("waiting")
	f.is("check", queued(30, "settling", 40))
	tb.poll()
	tb.in("settling")
	tb.next()
	said := tb.said()
	if len(said) != 4 || !strings.HasPrefix(said[1], "The line is paused.") || said[2] != "The line moves again." || !strings.HasPrefix(said[3], "The line is forming again.") {
		t.Errorf("announced %q", said)
	}
}

// TestBrowserHidden polls once a minute while the page is hidden, at once when it
// is visible again, and never faster than the server says.
func TestBrowserHidden(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", queued(30, "nextPoll", 5))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/e")
	tb.says("position", "30")
	tb.next()
	tb.hide(true)
	assert.Equal(t, time.Minute, tb.next(), "a hidden tab polls after")
	tb.advance(2 * time.Second)
	tb.hide(false)
	assert.Equal(t, 3*time.Second, tb.next(), "a tab that is seen again after 2 of 5 s polls in")
	tb.hide(true)
	f.is("check", queued(20, "nextPoll", 5))
	tb.poll()
	tb.says("position", "20")
	if title := eval[string](tb, "document.title"); !strings.HasPrefix(title, "20 · ") {
		t.Errorf("the hidden tab is called %q", title)
	}
	tb.advance(20 * time.Second)
	assert.Equal(t, 2, len(f.heard("check")), "polls")
	f.is("check", queued(10, "nextPoll", 5))
	tb.hide(false)
	tb.says("position", "10")
}

// TestBrowserLeave asks first, by keyboard alone, and lines no visitor up again
// without being asked.
func TestBrowserLeave(t *testing.T) {
	f := start(t, queuepage.Config{EntryKey: "shop.entry.{eventId}"}, queuepage.Config{})
	f.is("check", queued(30))
	f.is("leave", busy(0))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/e")
	tb.in("waiting")
	tb.focus("leave")
	tb.press("\r")
	tb.until("document.getElementById('confirm').open && document.activeElement.id === 'no'")
	tb.press("\r")
	tb.until("!document.getElementById('confirm').open && document.activeElement.id === 'leave'")
	tb.press("\r")
	tb.until("document.activeElement.id === 'no'")
	tb.focus("yes")
	tb.press("\r")
	tb.says("failed", "That did not work: you are still in line. Please try again.")
	if len(f.heard("leave")) != 1 || !eval[bool](tb, "document.getElementById('failed').checkVisibility()") {
		t.Errorf("asked to leave: %q, or the failure cannot be seen", f.heard("leave"))
	}
	tb.poll() // still in line, and still polling
	tb.next()

	f.is("leave", answer{status: 204})
	tb.focus("yes")
	tb.press("\r")
	tb.in("left")
	assert.Equal(t, "leave e ticket-30", f.heard("leave")[1], "left with")
	polls := len(f.heard("check"))
	if eval[int](tb, "clock.delays().length") != 0 || eval[string](tb, "document.activeElement.id") != "title" {
		t.Error("who has left is polled for, or lost in the page")
	}
	tb.reload()
	tb.in("left")
	assert.Equal(t, polls, len(f.heard("check")), "a reload lined up again who had")
	eval[bool](tb, "(document.getElementById('again').click(), true)")
	tb.in("waiting")
	if heard := f.heard("check"); heard[len(heard)-1] != "check e" {
		t.Errorf("who lines up again asked %q, with the ticket of before", heard[len(heard)-1])
	}
	// Nor does another tab of the browser.
	tb.next()
	polls = len(f.heard("check"))
	eval[bool](tb, `(localStorage.removeItem("queuepage:room:e"), dispatchEvent(new StorageEvent("storage", { key: "queuepage:room:e", newValue: null })), true)`)
	tb.in("left")
	tb.reload()
	tb.in("left")
	assert.Equal(t, polls, len(f.heard("check")), "a tab lined the visitor up again, after a departure in another one")
}

// A visitor who comes back to a kept place is told so, in both languages, and whose turns
// come between those of the line.
func TestBrowserReturner(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	f.is("check", queued(3, "returner", true))
	tb := open(t, f.URL, phone())
	tb.visit("/queue/show-1")
	tb.says("position", "3")
	if text := tb.text("text"); !strings.HasPrefix(text, "Your place was kept.") {
		t.Errorf("a returner is told %q", text)
	}
	tb.focus("lang")
	tb.press("\r")
	tb.until("document.documentElement.lang === 'ko'")
	if text := tb.text("text"); !strings.HasPrefix(text, "지켜 둔 순서로 돌아왔어요.") {
		t.Errorf("a returner is told %q", text)
	}
	f.is("check", queued(2))
	tb.poll()
	tb.says("position", "2")
	if text := tb.text("text"); !strings.HasPrefix(text, "도착한 순서대로") {
		t.Errorf("a visitor in line is told %q", text)
	}
}
