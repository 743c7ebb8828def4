package browsertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

// TestPagesCommunityLook takes pictures of the members' actions, in both themes and
// languages, on a phone and on a desktop, and checks each page with axe.
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
	told := []fakeNotice{
		{Type: "POST_LIKE", Params: events.NoticeParams{Member: "jun", Show: "Moonlight Parade"}},
		{Type: "COMMENT", Params: events.NoticeParams{Member: "soo", Show: "Winter, Unplugged"}},
		{Type: "FOLLOW", Params: events.NoticeParams{Member: "jun"}},
		{Type: "VOTE_CLOSED", Params: events.NoticeParams{Show: "Night Train to Gangneung", Songs: []string{"Northbound", "Slow Tide"}}},
		{Type: "RESERVATION", Params: events.NoticeParams{Show: "Moonlight Parade", Seats: []string{"A-1", "A-2"}, Outcome: "CONFIRMED"}},
		{Type: "RESERVATION", Params: events.NoticeParams{Show: "Moonlight Parade", Seats: []string{"B-7"}, Outcome: "REFUNDED", Reason: "LATE"}},
		{Type: "RESERVATION", Params: events.NoticeParams{Show: "A Hundred Small Drums", Seats: []string{"C-1"}, Outcome: "CANCELLED", Reason: "HOLD_TIMEOUT"}},
		{Type: "FOLLOW", Message: "soo follows you"}, // by the version before
	}
	for i := range 23 {
		say := told[i%len(told)]
		n := f.store("mina", say.Type, say.Message, "show-1", time.Now().Add(time.Duration(i-24)*37*time.Minute))
		n.Params = say.Params
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

	f.tell("mina", "FOLLOW", events.NoticeParams{Member: "soo"}, "mina")
	f.tell("mina", "POST_LIKE", events.NoticeParams{Member: "jun", Show: "The Paper Kites of Busan"}, "show-2")
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
