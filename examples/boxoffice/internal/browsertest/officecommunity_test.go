package browsertest

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestOfficeCommunity: two members meet at a show of the real office. One follows the
// other and is notified of a like, both chat, and the numbers move.
func TestOfficeCommunity(t *testing.T) {
	o := startOffice(t)
	jun := open(t, o.url(), phone())
	jun.signIn("jun")
	jun.visit("/shows/show-1")
	jun.until(streaming + " && " + visible("#vote"))
	jun.fill("#comment-text", "Row F is where the strings sound best.")
	jun.click("#comment-form [type=submit]")
	jun.until("document.querySelector('.comment .said')?.textContent.startsWith('Row F')")

	mina := open(t, o.url(), desktop())
	mina.signIn("mina")
	mina.visit("/shows/show-1")
	mina.until(streaming + " && " + tally("commentCount") + " === '1'")
	mina.click(".comment .actions button")
	jun.until(badge + " === '1' && document.querySelector('.toast')?.textContent.includes('mina')")
	jun.click("#like")
	mina.until(badge + " === '1' && document.querySelector('.toast')?.textContent.includes('jun likes')") // which goes again
	for _, tb := range []*tab{jun, mina} {
		tb.until(tally("likeCount") + " === '1'")
	}
	mina.click("#bell")
	mina.click("#inbox-list .tick")
	mina.until(badge + " === ''")
	mina.press(kb.Escape)

	mina.click("#chat-toggle")
	mina.until(visible("#chat-room"))
	mina.fill("#chat-text", "Is anybody there?")
	mina.press(kb.Enter)
	mina.until(said + " === 'Is anybody there?' && !document.querySelector('.message.waiting')")
	jun.click("#chat-toggle")
	jun.until(said + " === 'Is anybody there?'")
	jun.fill("#chat-text", "Yes, in row F.")
	jun.click("#chat-form button")
	mina.until(said + " === 'Is anybody there?|Yes, in row F.'")
	jun.click("#chat-toggle")
	mina.fill("#chat-text", "See you there!")
	mina.press(kb.Enter)
	jun.until("document.querySelector('#chat-unread').textContent === '1 new message'")

	mina.click("#vote-options label:nth-child(2) input")
	mina.click("#vote-form [type=submit]")
	mina.until("document.querySelector('.option.chosen .n')?.textContent === '1 vote'")
	sound(mina, "a show of the office")
	mina.sheet("office-community")
}
