package browsertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/sse"
)

// badge is an expression: the bell's number, empty for none.
const badge = "(e => e && e.checkVisibility() ? e.textContent : '')(document.querySelector('#bell-count'))"

// streaming is an expression: the tab has its stream.
const streaming = "document.querySelector('#bell')?.dataset.live === 'live'"

// signedIn opens a member's tab and waits for its stream.
func signedIn(t *testing.T, f *fake, d device, member, path string) *tab {
	t.Helper()
	tb := open(t, f.url(), d)
	tb.signIn(member)
	tb.visit(path)
	tb.until(streaming)
	return tb
}

// TestPagesNotifications follows notifications from the stream to the bell, the panel
// and the marks of read ones.
func TestPagesNotifications(t *testing.T) {
	f := startFake(t)
	f.mu.Lock()
	for i := range 24 {
		n := f.store("mina", "POST_LIKE", fmt.Sprintf("jun likes show number %d", i), "show-2", time.Now().Add(time.Duration(i-40)*time.Hour))
		if i < 21 {
			n.ReadAt = &n.CreatedAt
		}
	}
	f.mu.Unlock()
	tb := open(t, f.url(), desktop())
	tb.visit("/")
	tb.until("document.querySelector('#member [data-signed=out]').checkVisibility()")
	assert.False(t, eval[bool](tb, "document.querySelector('#bell').checkVisibility()"), "there is a bell for who is not signed in")
	tb.signIn("mina")
	tb.visit("/")
	tb.until(streaming + " && " + badge + " === '3'")
	assert.Equal(t, 0, eval[int](tb, "document.querySelectorAll('.toast').length"), "notifications that were there before pop up")

	f.notify("mina", "COMMENT", "jun commented on Moonlight Parade", "show-1")
	tb.until(badge + " === '4' && document.querySelector('.toast')?.textContent.includes('jun commented on Moonlight Parade')")
	assert.Equal(t, "polite", eval[string](tb, "document.querySelector('.toast').closest('[aria-live]').getAttribute('aria-live')"), "news is said as")
	assert.Equal(t, "Notifications: 4 unread", eval[string](tb, "document.querySelector('#bell').getAttribute('aria-label')"), "a screen reader hears")

	tb.tabTo("#bell")
	tb.press(kb.Enter)
	tb.until(visible("#inbox") + " && document.activeElement.id === 'inbox-title' && document.querySelectorAll('#inbox-list li').length === 21")
	tb.until("document.querySelectorAll('#inbox-list .unread').length === 4 && document.querySelectorAll('.toast').length === 0")
	tb.tabTo("#inbox-list li:nth-child(2) .tick")
	tb.press(kb.Enter)
	tb.until("document.querySelectorAll('#inbox-list .unread').length === 3 && " + badge + " === '3' && document.activeElement.closest('#inbox-list li') !== null")
	tb.click("#inbox-more")
	tb.until("document.querySelectorAll('#inbox-list li').length === 25 && !(" + visible("#inbox-more") + ")")
	f.notify("mina", "FOLLOW", "jun follows you now", "mina")
	tb.until("document.querySelector('#inbox-list li').textContent.includes('jun follows you now') && document.querySelector('#live').textContent.includes('jun follows you now')")
	tb.click("#inbox-all")
	tb.until("document.querySelectorAll('#inbox-list .unread').length === 0 && " + badge + " === '' && !(" + visible("#inbox-all") + ")")
	f.mu.Lock()
	if n := f.unread("mina"); n != 0 || f.inbox.readAll != 1 {
		t.Errorf("after %d requests %d are unread at the office", f.inbox.readAll, n)
	}
	f.mu.Unlock()
	tb.press(kb.Escape)
	tb.until("!(" + visible("#inbox") + ") && document.activeElement.id === 'bell'")

	f.notify("mina", "RESERVATION", "Your seats A-1, A-2 are booked", "r-1")
	tb.until(badge + " === '1'")
	tb.click("#bell")
	tb.click("#inbox-list li:first-child a")
	tb.at("/tickets")
	tb.until(streaming + " && " + badge + " === ''")
}

// TestPagesNotificationsInEveryTab marks as read in one tab a notification that
// another tab shows.
func TestPagesNotificationsInEveryTab(t *testing.T) {
	f := startFake(t)
	one := signedIn(t, f, desktop(), "mina", "/")
	two := one.another("/artists")
	two.until(streaming)
	f.notify("mina", "FOLLOW", "jun follows you now", "mina")
	one.until(badge + " === '1'")
	two.until(badge + " === '1'")
	one.click("#bell")
	one.click("#inbox-list .tick")
	two.until(badge + " === ''")

	// All at once, also those that are on no page, but none that arrived unseen.
	f.mu.Lock()
	for i := range 120 {
		f.store("mina", "POST_LIKE", fmt.Sprintf("jun likes show number %d", i), "show-2", time.Now())
	}
	f.mu.Unlock()
	f.notify("mina", "COMMENT", "jun wrote about Moonlight Parade", "show-1")
	one.until("document.querySelector('#inbox-list li').textContent.includes('jun wrote')")
	eval[bool](one, "(document.dispatchEvent(new Event('visibilitychange')), true)")
	one.until(badge + " === '99+'")
	f.mu.Lock()
	unseen := f.store("mina", "FOLLOW", "soo follows you", "mina", time.Now())
	f.mu.Unlock()
	one.click("#inbox-all")
	one.until(badge + " === '1' && document.querySelectorAll('#inbox-list .unread').length === 1")
	two.until(badge + " === '1'")
	f.mu.Lock()
	if n := f.unread("mina"); n != 1 || unseen.ReadAt != nil || f.inbox.readAll != 1 {
		t.Errorf("after %d requests %d are unread at the office", f.inbox.readAll, n)
	}
	f.mu.Unlock()
	one.click("#inbox-all")
	two.until(badge + " === ''")

	one.click("#inbox-mute")
	one.until("document.querySelector('#inbox-mute').checked")
	boxtest.WaitFor(t, "the office to know that it is muted", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.inbox.muted["mina"]
	})
	two.visit("/")
	two.click("#bell")
	two.until("document.querySelector('#inbox-mute').checked")

	// Signing out ends the streams of all tabs.
	one.press(kb.Escape)
	one.click("#member button")
	two.until("!(" + visible("#bell") + ") && !(" + visible("#inbox") + ")")
	boxtest.WaitFor(t, "the streams to end", func() bool { return f.streams.streaming() == 0 })
}

// TestPagesEvicted opens a tab more than may be live: the oldest says so, stays
// without a stream, and takes the place back on request.
func TestPagesEvicted(t *testing.T) {
	f := startFake(t)
	first := signedIn(t, f, desktop(), "mina", "/")
	tabs := []*tab{first}
	for range 3 {
		next := first.another("/")
		next.until(streaming)
		tabs = append(tabs, next)
	}
	first.until("document.querySelector('#bell').dataset.live === 'evicted' && document.querySelector('.toast.stays')?.textContent.includes('Live in another tab')")
	asked, victims := f.streams.asked(), f.streams.hub.Stats().Victims
	first.click("#bell")
	first.until(visible("#inbox-state") + " && " + visible("#inbox-here"))
	first.shot("evicted")
	f.notify("mina", "FOLLOW", "jun follows you now", "mina")
	for _, other := range tabs[1:] {
		other.until(badge + " === '1'")
	}
	// Looking at the tab again shows the new notifications, and evicts no other tab.
	eval[bool](first, "(document.dispatchEvent(new Event('visibilitychange')), true)")
	first.until(badge + " === '1'")
	boxtest.WaitFor(t, "the evicted tab to ask for a free place", func() bool { return f.streams.asked() > asked })
	first.until("document.querySelector('#bell').dataset.live === 'evicted'")
	if st := f.streams.hub.Stats(); f.streams.asked() != asked+1 || st.Victims != victims || st.Streams != 3 {
		t.Errorf("the evicted tab has asked for %d streams, of which %d are open, %d victims", f.streams.asked()-asked, st.Streams, st.Victims-victims)
	}
	first.click("#inbox-here")
	first.until(streaming + " && !document.querySelector('.toast.stays')")
	tabs[1].until("document.querySelector('#bell').dataset.live === 'evicted'")
	tabs[2].until(streaming)
	tabs[3].until(streaming)
	boxtest.WaitFor(t, "three streams", func() bool { return f.streams.streaming() == 3 })
}

// TestPagesEvictedWhileAway is answered 204 when its browser reconnects: it was
// evicted while it could not be notified.
func TestPagesEvictedWhileAway(t *testing.T) {
	f := startFake(t)
	tb := signedIn(t, f, desktop(), "mina", "/")
	tb.Expect("ERR_", "status of 401")
	f.streams.set("gone")
	f.server.CloseClientConnections()
	tb.until("document.querySelector('#bell').dataset.live === 'evicted'")
	f.streams.set("")
	tb.click(".toast.stays .button")
	tb.until(streaming)
}

// TestPagesWithoutStreams reads the inbox while there are no streams, and reconnects
// to them by itself.
func TestPagesWithoutStreams(t *testing.T) {
	f := startFake(t)
	f.streams.set("fallback")
	tb := open(t, f.url(), phone())
	tb.Expect("status of 401", "ERR_")
	tb.signIn("mina")
	tb.visit("/")
	tb.until("document.querySelector('#bell').dataset.live === 'fallback'")
	tb.click("#bell")
	tb.until(visible("#inbox-state") + " && document.querySelector('#inbox-state').textContent.includes('away for a moment')")
	f.notify("mina", "FOLLOW", "jun follows you now", "mina")
	eval[bool](tb, "(document.dispatchEvent(new Event('visibilitychange')), true)") // as coming back to the tab
	tb.until(badge + " === '1'")
	f.streams.set("")
	tb.until(streaming + " && !(" + visible("#inbox-state") + ")")

	// A ticket that the office no longer knows does not stop the reconnection.
	eval[bool](tb, "(globalThis.setTimeout = ((real) => (fn, ms) => real(fn, Math.min(ms, 300)))(setTimeout), true)")
	f.streams.set("refuse")
	f.server.CloseClientConnections()
	tb.until("document.querySelector('#bell').dataset.live === 'fallback'")
	f.streams.set("")
	tb.until(streaming)
}

// TestPagesHiddenTab gives its place back after a while, and has the missed
// notifications when it is seen again.
func TestPagesHiddenTab(t *testing.T) {
	f := startFake(t)
	tb := signedIn(t, f, desktop(), "mina", "/")
	eval[bool](tb, `(() => {
		globalThis.setTimeout = ((real) => (fn, ms) => real(fn, ms === 30000 ? 50 : ms))(setTimeout);
		globalThis.hide = (hidden) => { Object.defineProperty(document, "hidden", { value: hidden, configurable: true }); document.dispatchEvent(new Event("visibilitychange")); };
		hide(true);
		return true;
	})()`)
	boxtest.WaitFor(t, "the stream to end", func() bool { return f.streams.streaming() == 0 })
	f.notify("mina", "FOLLOW", "jun follows you now", "mina")
	eval[bool](tb, "(hide(false), true)")
	tb.until(streaming + " && " + badge + " === '1'")
	f.notify("mina", "FOLLOW", "soo follows you now", "mina")
	tb.until(badge + " === '2' && [...document.querySelectorAll('.toast')].some((news) => news.textContent.includes('soo follows you'))")
}

// TestPagesResume goes from page to page without a repeated event, and survives a
// restart of the office.
func TestPagesResume(t *testing.T) {
	f := startFake(t)
	tb := signedIn(t, f, desktop(), "mina", "/")
	tb.Expect("ERR_")
	f.notify("mina", "FOLLOW", "jun follows you now", "mina")
	tb.until("document.querySelectorAll('.toast').length === 1")
	tb.visit("/artists")
	tb.until(streaming + " && " + badge + " === '1'")
	f.stop()
	tb.until("!(" + streaming + ")")
	f.mu.Lock()
	f.store("mina", "FOLLOW", "soo follows you now", "mina", time.Now())
	f.mu.Unlock()
	f.start(t, f.address)
	f.sockets(true)
	tb.until(streaming + " && " + badge + " === '2'")
	f.notify("mina", "FOLLOW", "min follows you now", "mina")
	tb.until(badge + " === '3'")
	if n := eval[int](tb, "[...document.querySelectorAll('.toast')].filter(e => e.textContent.includes('jun')).length"); n != 0 {
		t.Error("what was seen before pops up again")
	}
}

// TestPagesFreePlace brings an evicted tab to the front after a place has become free:
// the tab takes the place by itself.
func TestPagesFreePlace(t *testing.T) {
	f := startFake(t)
	first := signedIn(t, f, desktop(), "mina", "/")
	// A busy browser closes the stream of the page after the sign-in seconds late.
	boxtest.WaitFor(t, "one stream", func() bool { return f.streams.streaming() == 1 })
	var tabs []*tab
	for range 3 {
		next := first.another("/")
		next.until(streaming)
		tabs = append(tabs, next)
	}
	first.until("document.querySelector('#bell').dataset.live === 'evicted'")
	tabs[1].visit("/offline") // a page without a stream
	boxtest.WaitFor(t, "a place to be free", func() bool { return f.streams.streaming() == 2 })
	eval[bool](first, "(document.dispatchEvent(new Event('visibilitychange')), true)")
	first.until(streaming + " && !document.querySelector('.toast.stays')")
	for _, other := range []*tab{tabs[0], tabs[2]} {
		other.until(streaming)
	}
	assert.EqualValues(t, 1, f.streams.hub.Stats().Victims, "streams were evicted, want the first of four")
}

// TestPagesGap: when the stream reports a gap, the page reads the inbox.
func TestPagesGap(t *testing.T) {
	f := startFake(t)
	tb := signedIn(t, f, desktop(), "mina", "/")
	eval[bool](tb, `(globalThis.read = 0, globalThis.fetch = ((real) => (...of) => { if (String(of[0].url ?? of[0]).includes("/api/notifications?")) globalThis.read += 1; return real(...of); })(fetch), true)`)
	require.NoError(t, f.streams.hub.ToMember(t.Context(), "mina", sse.Event{Name: "gap", Data: []byte(`{"event":"notification","count":7}`)}))
	tb.until("globalThis.read > 0")
}

// TestPagesOneStreamPerView goes from page to page by its links: each view asks for
// one stream, and the pages behind it ask for none. Like some browsers, this one ends
// the streams of a page as soon as it is being left.
func TestPagesOneStreamPerView(t *testing.T) {
	f := startFake(t)
	tb := signedIn(t, f, desktop(), "mina", "/")
	set(tb, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		const streams = [];
		globalThis.EventSource = class extends EventSource {
			constructor(...of) { super(...of); streams.push(this); }
		};
		addEventListener("beforeunload", () => setTimeout(() => {
			for (const stream of streams) { stream.close(); stream.dispatchEvent(new Event("error")); }
		}));`})
	tb.visit("/")
	tb.until(streaming)
	const views = 6
	asked := f.streams.asked()
	for i := range views {
		path := [...]string{"/tickets", "/"}[i%2]
		tb.click(`nav a[href="` + path + `"]`)
		tb.until(`location.pathname === "` + path + `" && ` + streaming)
	}
	boxtest.WaitFor(t, "one stream", func() bool { return f.streams.streaming() == 1 })
	if n := f.streams.asked() - asked; n != views {
		t.Errorf("%d views asked for %d streams", views, n)
	}
	assert.EqualValues(t, 0, f.streams.hub.Stats().Victims, "streams were evicted by a member with one tab")
}
