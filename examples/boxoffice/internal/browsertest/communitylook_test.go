package browsertest

import (
	"fmt"
	"testing"
	"time"
)

// TestPagesCommunityLook has pictures of what members do, in both themes and
// languages, on a phone and on a desktop, and asks axe about each page.
func TestPagesCommunityLook(t *testing.T) {
	t.Parallel()
	each(t, communityLook)
}

func communityLook(t *testing.T, d device, name string) {
	f := startFake(t)
	f.mu.Lock()
	for i, said := range []string{"Doors open at six?", "At half past, they say.", "See you at the fountain then", "Bring the good camera this time, the lights in the second half were something else last year and nobody believed me"} {
		f.chat.add("show-1", []string{"jun", "mina", "mina", "soo"}[i], said, time.Now().Add(time.Duration(i-9)*time.Minute))
	}
	kinds := []string{"POST_LIKE", "COMMENT", "FOLLOW", "VOTE_CLOSED", "RESERVATION"}
	for i := range 23 {
		n := f.store("mina", kinds[i%5], []string{"jun likes Moonlight Parade", "soo wrote about Winter, Unplugged", "jun follows you", "The setlist vote for Night Train to Gangneung is over: Northbound won", "Your seats A-1, A-2 for Moonlight Parade are booked"}[i%5], "show-1", time.Now().Add(time.Duration(i-24)*37*time.Minute))
		if i < 19 {
			n.ReadAt = &n.CreatedAt
		}
	}
	flip(f.social.follows, "mina", "jun", true)
	f.mu.Unlock()
	tb := signedIn(t, f, d, "mina", "/shows/show-1")
	take := func(what string) {
		t.Helper()
		tb.until(calm)
		tb.shot(fmt.Sprintf("community-%s-%s", name, what))
		sound(tb, what)
		tb.axe("body")
	}
	tb.until("document.querySelectorAll('.comment').length === 20 && " + visible("#vote"))
	take("top")
	tb.click("#vote-options label:nth-child(1) input")
	tb.click("#vote-form [type=submit]")
	tb.until("document.querySelector('.option.chosen') && document.querySelector('#vote progress').checkVisibility()")
	tb.click("#like")
	tb.click("#chat-toggle")
	tb.until("document.querySelectorAll('#chat-log .message').length === 4")
	tb.sheet("community-" + name + "-whole")
	eval[bool](tb, "(document.querySelector('.community').scrollIntoView(), true)")
	take("chat")
	tb.click("#chat-toggle")
	tb.until("!(" + visible("#chat-room") + ") && " + visible("#chat-leave"))
	take("chat-closed")

	f.notify("mina", "FOLLOW", "soo follows you", "mina")
	f.notify("mina", "POST_LIKE", "jun likes The Paper Kites of Busan", "show-2")
	f.say("show-1", "soo", "The queue is short, come early")
	tb.until("document.querySelectorAll('.toast').length === 3 && " + visible("#chat-unread"))
	take("toasts")
	tb.click("#bell")
	tb.until("document.querySelectorAll('#inbox-list li').length === 22")
	take("inbox")
	for range 3 {
		tb.another("/artists").until(streaming)
	}
	tb.until("document.querySelector('#bell').dataset.live === 'evicted' && " + visible("#inbox-state"))
	take("evicted")
}
