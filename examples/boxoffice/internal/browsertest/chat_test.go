package browsertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
)

// said is an expression: the messages that the chat shows.
const said = "[...document.querySelectorAll('#chat-log .message:not(.waiting) .said')].map(e => e.textContent).join('|')"

// chatting opens the chat of a show in a member's tab.
func chatting(t *testing.T, f *fake, d device, member string) *tab {
	t.Helper()
	tb := signedIn(t, f, d, member, "/shows/show-1")
	tb.click("#chat-toggle")
	tb.until(visible("#chat-room"))
	boxtest.WaitFor(t, "a socket of "+member, func() bool { return f.listeners("show-1") > 0 })
	return tb
}

// TestPagesChat chats in two tabs, in one order.
func TestPagesChat(t *testing.T) {
	f := startFake(t)
	for i := range 70 {
		f.chat.add("show-1", "soo", fmt.Sprint("earlier ", i+1), time.Now().Add(time.Duration(i-100)*time.Minute))
	}
	mina := chatting(t, f, desktop(), "mina")
	mina.until("document.querySelectorAll('#chat-log .message').length === 50 && document.activeElement.id === 'chat-text'")
	mina.click("#chat-earlier")
	mina.until("document.querySelectorAll('#chat-log .message').length === 70 && document.querySelector('#chat-log .said').textContent === 'earlier 1' && !(" + visible("#chat-earlier") + ")")

	jun := chatting(t, f, phone(), "jun")
	boxtest.WaitFor(t, "two sockets", func() bool { return f.listeners("show-1") == 2 })
	mina.fill("#chat-text", "Which row is best?")
	mina.press(kb.Enter)
	jun.until(said + ".endsWith('Which row is best?')")
	jun.fill("#chat-text", "<b>Row F</b> & a scarf")
	jun.click("#chat-form button")
	mina.until(said + ".endsWith('Which row is best?|<b>Row F</b> & a scarf') && !document.querySelector('.message.waiting')")
	if who := eval[[]string](mina, "[...document.querySelectorAll('#chat-log .message')].slice(-2).map(e => e.querySelector('b').textContent + ' ' + e.classList.contains('mine'))"); who[0] != "You true" || who[1] != "jun false" {
		t.Errorf("the last two are by %q", who)
	}
	assert.Equal(t, "log", eval[string](mina, "document.querySelector('#chat-log').getAttribute('role')"), "the chat is said as")
	if n := eval[int](mina, "document.querySelectorAll('.toast').length"); n != 0 {
		t.Errorf("what is on the screen pops up %d times too", n)
	}

	// The scroll position of a reader of older messages stays.
	eval[bool](mina, "(document.querySelector('#chat-log').scrollTop = 0, true)")
	f.say("show-1", "soo", "One more")
	mina.until(visible("#chat-newest") + " && document.querySelector('#chat-log').scrollTop === 0")
	mina.click("#chat-newest")
	mina.until("(e => e.scrollHeight - e.scrollTop - e.clientHeight < 2)(document.querySelector('#chat-log')) && !(" + visible("#chat-newest") + ")")

	// A refused message is not lost.
	mina.Expect("status of 400")
	f.mu.Lock()
	f.chat.refuses = "Too fast"
	f.mu.Unlock()
	mina.fill("#chat-text", "Hello?")
	mina.press(kb.Enter)
	mina.until(visible("#chat-problem") + " && document.querySelector('#chat-problem').textContent.includes('Too fast') && document.querySelector('#chat-text').value === 'Hello?' && !document.querySelector('.message.waiting')")
}

// TestPagesChatLong: a log that is full drops its oldest messages, and brings them back when
// they are asked for.
func TestPagesChatLong(t *testing.T) {
	f := startFake(t)
	tb := chatting(t, f, desktop(), "mina")
	for i := range 520 {
		f.say("show-1", "jun", fmt.Sprint(i+1))
	}
	tb.until(said + ".endsWith('|520') && document.querySelectorAll('#chat-log .message').length === 500")
	tb.click("#chat-earlier")
	tb.until(said + " === Array.from({ length: 520 }, (_, i) => i + 1).join('|') && !(" + visible("#chat-earlier") + ")")
}

// TestPagesChatResumes loses sockets, and single messages: every message is shown,
// once and in order.
func TestPagesChatResumes(t *testing.T) {
	f := startFake(t)
	tb := chatting(t, f, desktop(), "mina")
	tb.Expect("WebSocket", "status of 503")
	f.say("show-1", "jun", "one")
	tb.until(said + " === 'one'")

	f.sockets(false)
	f.say("show-1", "jun", "two") // while no socket is open
	f.say("show-1", "jun", "three")
	tb.until(said + " === 'one|two|three' && document.querySelector('#chat-state').textContent.includes('every few seconds')")
	tb.fill("#chat-text", "four")
	tb.press(kb.Enter)
	tb.until(said + " === 'one|two|three|four'")
	f.sockets(true)
	boxtest.WaitFor(t, "the socket to come back", func() bool { return f.listeners("show-1") == 1 })
	tb.until("document.querySelector('#chat-state').textContent === ''")
	f.say("show-1", "jun", "five")
	tb.until(said + " === 'one|two|three|four|five'")

	f.mu.Lock()
	f.chat.drop = true
	f.mu.Unlock()
	f.say("show-1", "jun", "six")
	f.mu.Lock()
	f.chat.drop = false
	f.mu.Unlock()
	f.say("show-1", "jun", "seven")
	tb.until(said + " === 'one|two|three|four|five|six|seven'")

	tb.click("#chat-toggle")
	tb.until("!(" + visible("#chat-room") + ") && document.querySelector('#chat-toggle').getAttribute('aria-expanded') === 'false'")
	boxtest.WaitFor(t, "the socket to end", func() bool { return f.listeners("show-1") == 0 })
}

// TestPagesChatAlerts marks new messages while the chat is closed, also on other
// pages.
func TestPagesChatAlerts(t *testing.T) {
	f := startFake(t)
	tb := signedIn(t, f, desktop(), "mina", "/shows/show-1")
	f.say("show-1", "jun", "before")
	tb.click("#chat-toggle")
	tb.until(said + " === 'before'")
	tb.click("#chat-toggle")
	f.say("show-1", "jun", "are you there?")
	tb.until("document.querySelector('#chat-unread').textContent === '1 new message' && document.querySelector('.toast').textContent.includes('jun: are you there?')")
	tb.visit("/artists")
	tb.until(streaming)
	f.say("show-1", "mina", "my own words from another device")
	f.say("show-1", "jun", "<i>hello?</i>")
	tb.until("document.querySelector('.toast')?.textContent.includes('2 new messages') && document.querySelectorAll('.toast').length === 1 && document.querySelector('.toast').textContent.includes('Moonlight Parade')")
	tb.click(".toast a")
	tb.at("/shows/show-1")
	tb.until(said + " === 'before|are you there?|my own words from another device|<i>hello?</i>' && !(" + visible("#chat-unread") + ") && document.querySelectorAll('.toast').length === 0")
	tb.Expect("status of 404") // this one has no vote
	tb.visit("/shows/show-2")
	tb.until(streaming)
	assert.False(t, eval[bool](tb, "document.querySelector('#chat-unread').checkVisibility()"), "another show has unread messages")
}

// TestPagesChatSignIn asks for a name where the chat is opened without one, and ends
// the chat with the sign-in.
func TestPagesChatSignIn(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), phone())
	tb.visit("/shows/show-1")
	tb.click("#chat-toggle")
	tb.until(visible("#signin") + " && document.querySelector('#signin-why').textContent.includes('chat')")
	tb.fill("#signin input", "mina")
	tb.press(kb.Enter)
	tb.until(visible("#chat-room") + " && " + visible("#chat-none"))
	boxtest.WaitFor(t, "the socket", func() bool { return f.listeners("show-1") == 1 })
	eval[bool](tb, "(localStorage.removeItem('boxoffice.session'), dispatchEvent(new StorageEvent('storage', { key: 'boxoffice.session' })), true)") // as another tab does
	tb.until("!(" + visible("#chat-room") + ")")
	boxtest.WaitFor(t, "the socket to end", func() bool { return f.listeners("show-1") == 0 })
}

// TestPagesChatLeave leaves a room, in every tab, and joins it again.
func TestPagesChatLeave(t *testing.T) {
	f := startFake(t)
	tb := signedIn(t, f, desktop(), "mina", "/shows/show-1")
	const toggle, hint = "#chat-toggle", "document.querySelector('#chat-hint').textContent"
	joined := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.chat.joined["show-1"]["mina"]
	}
	tb.until(says(toggle) + " === 'Join' && !(" + visible("#chat-leave") + ")")
	tb.click(toggle)
	tb.until(visible("#chat-room") + " && " + visible("#chat-leave") + " && " + says(toggle) + " === 'Close'")
	tb.click(toggle)
	tb.until("!(" + visible("#chat-room") + ") && " + says(toggle) + " === 'Open' && " + hint + ".startsWith('You are in this chat') && " + visible("#chat-leave"))
	other := tb.another("/shows/show-1")
	other.until(streaming + " && " + says(toggle) + " === 'Open'")
	other.click(toggle)
	other.until(visible("#chat-room"))
	boxtest.WaitFor(t, "the socket", func() bool { return f.listeners("show-1") == 1 })
	f.say("show-1", "jun", "are you there?")
	tb.until("document.querySelector('#chat-unread').textContent === '1 new message'")

	tb.tabTo("#chat-leave")
	tb.press(kb.Enter)
	tb.until(says(toggle) + " === 'Join' && !(" + visible("#chat-leave") + ") && !(" + visible("#chat-unread") + ") && document.activeElement.id === 'chat-toggle' && document.querySelector('#live').textContent.startsWith('You have left the chat')")
	other.until("!(" + visible("#chat-room") + ") && " + says(toggle) + " === 'Join'")
	boxtest.WaitFor(t, "the socket to end", func() bool { return f.listeners("show-1") == 0 })
	assert.False(t, joined(), "the office still has her in the room")
	f.say("show-1", "jun", "nobody hears this")
	f.notify("mina", "FOLLOW", "soo follows you", "mina") // comes behind it
	tb.until(badge + " === '1'")
	if eval[bool](tb, visible("#chat-unread")) || eval[int](tb, "[...document.querySelectorAll('.toast')].filter(e => e.textContent.includes('nobody hears')).length") > 0 {
		t.Error("who has left is told of messages")
	}

	tb.press(kb.Enter)
	tb.until(said + " === 'are you there?|nobody hears this' && " + visible("#chat-leave"))
	other.until(says(toggle) + " === 'Open'")
	tb.fill("#chat-text", "Here I am again")
	tb.press(kb.Enter)
	tb.until(said + ".endsWith('Here I am again')")
	assert.True(t, joined(), "the office does not have her in the room")
	tb.click("#chat-leave") // while it is open
	tb.until("!(" + visible("#chat-room") + ") && " + says(toggle) + " === 'Join'")
	tb.visit("/shows/show-1")
	tb.until(streaming + " && " + says(toggle) + " === 'Join'")
}
