package browsertest

import (
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
)

// tally is an expression: a number of the show at hand.
func tally(name string) string {
	return "document.querySelector(\"[data-tally='" + name + "']\").textContent"
}

// TestPagesLike likes a show, takes it back, and is refused.
func TestPagesLike(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), desktop())
	tb.visit("/shows/show-1")
	tb.until(tally("likeCount") + " === '0' && " + tally("viewCount") + " === '1,205' && " + tally("salesCount") + " === '159'") // this visit is one of them
	tb.click("#like")
	tb.until(visible("#signin"))
	tb.fill("#signin input", "mina")
	tb.press(kb.Enter)
	const pressed = "document.querySelector('#like').getAttribute('aria-pressed')"
	tb.until(pressed + " === 'true' && " + tally("likeCount") + " === '1' && document.activeElement.id === 'like'")
	tb.visit("/shows/show-1")
	tb.until(pressed + " === 'true'")
	tb.press(kb.Escape)
	tb.click("#like")
	tb.until(pressed + " === 'false' && " + tally("likeCount") + " === '0'")
	tb.Expect("status of 409")
	f.mu.Lock()
	f.social.refuses = "Not now"
	f.mu.Unlock()
	tb.click("#like")
	tb.until(pressed + " === 'false' && " + visible("#like-problem"))
}

// TestPagesLateAnswers likes and follows before the page has received the member's
// likes and follows: the late answers undo nothing.
func TestPagesLateAnswers(t *testing.T) {
	f := startFake(t)
	likes, follows := make(chan struct{}), make(chan struct{})
	answerLikes, answerFollows := sync.OnceFunc(func() { close(likes) }), sync.OnceFunc(func() { close(follows) })
	defer answerFollows() // or the fake does not end
	defer answerLikes()
	f.late = map[string]chan struct{}{"/api/me/likes": likes, "/api/me/follows": follows}
	tb := signedIn(t, f, desktop(), "mina", "/shows/show-1")
	tb.until("document.querySelectorAll('.comment').length === 20")
	asked := func(path string) string {
		return "performance.getEntriesByType('resource').filter(e => e.name.endsWith('" + path + "')).length"
	}
	const pressed = "document.querySelector('#like').getAttribute('aria-pressed') === 'true'"
	tb.click("#like")
	tb.until(pressed + " && " + tally("likeCount") + " === '1'")
	tb.click(".comment:nth-child(2) .actions button")
	const following = "document.querySelector('.comment:nth-child(2) .actions button').textContent.startsWith('Following ')"
	tb.until(following)
	answerLikes()
	tb.until(asked("/api/me/likes") + " === 1")
	answerFollows()
	tb.until(asked("/api/me/follows") + " === 2") // it asks again
	if !eval[bool](tb, pressed) || !eval[bool](tb, following) {
		t.Error("an answer from before took a like or a follow back")
	}
}

// TestPagesCountsMove shows the actions of others without a reload.
func TestPagesCountsMove(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), phone())
	tb.visit("/shows/show-1")
	tb.until(tally("viewCount") + " === '1,205' && " + tally("likeCount") + " === '0' && document.querySelectorAll('.comment').length === 20")
	f.mu.Lock()
	flip(f.social.likes, "show-1", "jun", true)
	f.social.sales["show-1"] += 4
	f.social.comment("show-1", "soo", "Just booked, see you there", time.Now())
	f.mu.Unlock()
	tb.until(tally("likeCount") + " === '1' && " + tally("salesCount") + " === '163' && " + tally("commentCount") + " === '29'")
	tb.until("document.querySelector('.comment').textContent.includes('Just booked, see you there')")
	tb.until("['likeCount', 'salesCount', 'commentCount'].every(name => document.querySelector(`[data-tally=${name}]`).classList.contains('moved'))")
}

// TestPagesComments reads, writes, takes back, and follows.
func TestPagesComments(t *testing.T) {
	f := startFake(t)
	tb := signedIn(t, f, desktop(), "mina", "/shows/show-1")
	tb.until("document.querySelectorAll('.comment').length === 20 && document.querySelector('.comment .said').textContent.startsWith('Row F')")
	tb.click("#comments-more")
	tb.until("document.querySelectorAll('.comment').length === 28 && !(" + visible("#comments-more") + ") && document.activeElement.matches('.comment:nth-child(21)')")

	const hostile = "<img src=x onerror=alert(1)> & 안녕"
	tb.fill("#comment-text", hostile)
	tb.click("#comment-form [type=submit]")
	tb.until("document.querySelectorAll('.comment').length === 29 && document.querySelector('.comment .said').textContent === '" + hostile + "' && document.querySelector('#comment-text').value === ''")
	tb.until(tally("commentCount") + " === '29'")

	tb.click(".comment:nth-child(2) .actions button")
	tb.until("document.querySelector('.comment:nth-child(2) .actions button').textContent === 'Following jun' && document.querySelector('#live').textContent.includes('You now follow jun')")
	f.mu.Lock()
	assert.True(t, f.social.follows["mina"]["jun"], "the office does not know that mina follows jun")
	f.mu.Unlock()
	tb.visit("/shows/show-1")
	tb.until("document.querySelector('.comment:nth-child(2) .actions button')?.textContent === 'Following jun'")
	tb.click(".comment:nth-child(2) .actions button")
	tb.until("document.querySelector('.comment:nth-child(2) .actions button').textContent === 'Follow jun'")

	tb.click(".comment:nth-child(1) .actions button")
	tb.until(visible("#confirm"))
	tb.click("#confirm-no")
	tb.click(".comment:nth-child(1) .actions button")
	tb.click("#confirm-yes")
	tb.until("document.querySelector('.comment .said').textContent.startsWith('Row F') && document.activeElement.id === 'comments-title'")
	tb.until(tally("commentCount") + " === '28'")

	tb.Expect("status of 400")
	f.mu.Lock()
	f.social.refuses = "Too long"
	f.mu.Unlock()
	tb.fill("#comment-text", "What is refused is not lost")
	tb.click("#comment-form [type=submit]")
	tb.until(visible("#comment-problem") + " && document.querySelector('#comment-text').value === 'What is refused is not lost'")
}

// TestPagesVote votes by keyboard, changes the vote, and sees the vote close.
func TestPagesVote(t *testing.T) {
	f := startFake(t)
	tb := signedIn(t, f, desktop(), "mina", "/shows/show-1")
	tb.until(visible("#vote") + " && document.querySelector('#vote-deadline').textContent.startsWith('Open until')")
	assert.False(t, eval[bool](tb, "document.querySelector('#vote progress').checkVisibility()"), "the result is shown before there is a vote")
	tb.tabTo("#vote-options input")
	tb.press(" ", kb.Tab, kb.Enter)
	tb.until("document.querySelector('.option.chosen .title')?.textContent === 'Lanterns on the Han' && document.querySelector('.option.chosen .n').textContent === '3 votes' && document.querySelector('#vote-total').textContent === '4 votes in all.'")
	tb.click("#vote-options label:nth-child(3) input")
	tb.until("document.querySelector('#vote-form [type=submit]').textContent === 'Change my vote'")
	tb.click("#vote-form [type=submit]")
	tb.until("document.querySelector('.option.chosen .title').textContent === 'The Last Drum' && document.querySelector('.option.chosen .n').textContent === '1 vote'")

	f.mu.Lock()
	f.social.votes["show-1"].closesAt = time.Now().Add(3 * time.Second)
	f.mu.Unlock()
	tb.visit("/shows/show-1")
	tb.until("document.querySelector('#vote-deadline').textContent === 'The vote is closed.' && !(" + visible("#vote-form [type=submit]") + ") && document.querySelector('#vote-options input').disabled")
	assert.Equal(t, "The Last Drum", eval[string](tb, "document.querySelector('#vote-options input:checked').value"), "one's own choice")
	tb.Expect("status of 404")
	tb.visit("/shows/show-2")
	tb.until(streaming)
	assert.False(t, eval[bool](tb, "document.querySelector('#vote').checkVisibility()"), "a show without a vote has one")
}
