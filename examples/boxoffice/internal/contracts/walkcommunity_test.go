package contracts_test

import (
	"net/url"
	"strings"
	"testing"
)

// walkCommunity likes, comments, follows and votes.
func walkCommunity(t *testing.T, w *walker, admin string) {
	ann, bob := w.fan(t, "social-ann"), w.fan(t, "social-bob")
	for range 2 {
		ann.do(call{method: "POST", path: "/api/shows/show-1/like", status: 204})
		ann.do(call{method: "POST", path: "/api/members/social-bob/follow", status: 204})
	}
	ann.do(call{method: "GET", path: "/api/me/likes", status: 200})
	ann.do(call{method: "GET", path: "/api/me/follows", status: 200})
	ann.do(call{method: "DELETE", path: "/api/shows/show-1/like", status: 204})
	ann.do(call{method: "DELETE", path: "/api/members/social-bob/follow", status: 204})
	ann.do(call{method: "POST", path: "/api/members/nobody/follow", status: 404, problem: "member-not-found"})
	ann.do(call{method: "POST", path: "/api/members/social-ann/follow", status: 422, problem: "self-follow"})

	var said struct{ ID string }
	ann.do(call{method: "POST", path: "/api/shows/show-1/comments", body: map[string]string{"text": "See you at the stage door"}, status: 201, into: &said})
	for _, bad := range []string{`{"text":""}`, `{"text":"` + strings.Repeat("x", 1001) + `"}`, `{}`, `{"text":7}`} {
		ann.do(call{method: "POST", path: "/api/shows/show-1/comments", body: bad, status: 400, problem: "invalid-request", broken: true})
	}
	w.read(t, "/api/shows/show-1/comments?limit=10", 200)
	w.do(t, call{method: "GET", path: "/api/shows/show-1/comments?limit=0", status: 400, problem: "invalid-request", broken: true})
	w.do(t, call{method: "GET", path: "/api/shows/show-1/comments?before=a%2Fb", status: 400, problem: "invalid-request", broken: true})
	bob.do(call{method: "DELETE", path: "/api/comments/" + said.ID, status: 403, problem: "not-your-comment"})
	ann.do(call{method: "DELETE", path: "/api/comments/" + said.ID, status: 204})
	ann.do(call{method: "DELETE", path: "/api/comments/nothing", status: 404, problem: "comment-not-found"})

	vote := func(body string, status int, problem string, broken bool) {
		t.Helper()
		ann.do(call{method: "POST", path: "/api/shows/show-2/vote", body: body, status: status, problem: problem, broken: broken})
	}
	vote(`{"option":"First Light"}`, 204, "", false)
	vote(`{"option":"Slow Tide"}`, 204, "", false)
	vote(`{"option":"Nothing"}`, 422, "unknown-option", false)
	vote(`{}`, 400, "invalid-request", true)
	w.read(t, "/api/shows/show-2/vote", 200)
	ann.do(call{method: "GET", path: "/api/shows/show-2/vote", status: 200})
	w.do(t, call{method: "POST", path: "/api/shows/show-2/vote/close", token: admin, status: 204})
	vote(`{"option":"First Light"}`, 409, "vote-closed", false)
	var poll struct{ ClosedAt *string }
	waitFor(t, w, call{method: "GET", path: "/api/shows/show-2/vote", status: 200, into: &poll}, func() bool { return poll.ClosedAt != nil })
}

// walkInbox reads notifications, marks them, and mutes them.
func walkInbox(t *testing.T, w *walker, admin string) {
	ann, bob := w.fan(t, "inbox-ann", "show-1"), w.fan(t, "inbox-bob")
	bob.do(call{method: "POST", path: "/api/members/inbox-ann/follow", status: 204}) // FOLLOW for ann
	ann.do(call{method: "POST", path: "/api/members/inbox-bob/follow", status: 204})
	bob.do(call{method: "POST", path: "/api/shows/show-1/like", status: 204})                                               // POST_LIKE
	bob.do(call{method: "POST", path: "/api/shows/show-1/comments", body: map[string]string{"text": "again"}, status: 201}) // COMMENT
	ann.do(call{method: "POST", path: "/api/shows/show-3/vote", body: map[string]string{"option": "Slow Tide"}, status: 204})
	w.do(t, call{method: "POST", path: "/api/shows/show-3/vote/close", token: admin, status: 204}) // VOTE_CLOSED
	ann.buy("show-1", "D-1")                                                                       // RESERVATION

	var inbox struct {
		Notifications []struct{ ID, Type string }
	}
	kinds := map[string]bool{}
	waitFor(t, w, call{method: "GET", path: "/api/notifications?unread=true&limit=50", token: ann.token, status: 200, into: &inbox}, func() bool {
		for _, n := range inbox.Notifications {
			kinds[n.Type] = true
		}
		return len(kinds) == 5
	})
	first, second, third := inbox.Notifications[0].ID, inbox.Notifications[1].ID, inbox.Notifications[2].ID
	ann.do(call{method: "POST", path: "/api/notifications/" + url.PathEscape(first) + "/read", status: 204})
	ann.do(call{method: "POST", path: "/api/notifications/" + second + "/read", status: 204})
	ann.do(call{method: "POST", path: "/api/notifications/read", body: map[string]string{"upTo": third}, status: 204})
	ann.do(call{method: "GET", path: "/api/notifications?before=" + url.QueryEscape(first) + "&lang=ko", status: 200})
	for _, path := range []string{"/api/notifications/nothing/read", "/api/notifications/a/b/read"} {
		ann.do(call{method: "POST", path: path, status: 404, problem: "notification-not-found"})
	}
	ann.do(call{method: "POST", path: "/api/notifications/read", body: `{"upTo":"nothing"}`, status: 404, problem: "notification-not-found"})
	ann.do(call{method: "POST", path: "/api/notifications/read", body: `{}`, status: 400, problem: "invalid-request", broken: true})
	for _, query := range []string{"unread=perhaps", "limit=0", "limit=101", "before=" + strings.Repeat("x", 129)} {
		ann.do(call{method: "GET", path: "/api/notifications?" + query, status: 400, problem: "invalid-request", broken: true})
	}
	for _, muted := range []bool{true, false} {
		ann.do(call{method: "PUT", path: "/api/notifications/settings", body: map[string]bool{"muted": muted}, status: 200})
	}
	ann.do(call{method: "PUT", path: "/api/notifications/settings", body: `{"muted":"yes"}`, status: 400, problem: "invalid-request", broken: true})
}

// walkChat joins a room, writes, reads and leaves.
func walkChat(t *testing.T, w *walker) {
	ann := w.fan(t, "chat-ann")
	const room = "/api/rooms/show-1"
	ann.do(call{method: "POST", path: room + "/messages", body: map[string]string{"text": "hello"}, status: 403, problem: "not-joined"})
	ann.do(call{method: "POST", path: room + "/join", status: 204})
	ann.do(call{method: "POST", path: room + "/messages", body: map[string]string{"text": "hello"}, status: 202})
	for _, bad := range []string{`{}`, `{"text":""}`, `{"text":"x","more":1}`} {
		ann.do(call{method: "POST", path: room + "/messages", body: bad, status: 400, problem: "invalid-request", broken: true})
	}
	var read struct{ Messages []struct{ Seq int64 } }
	waitFor(t, w, call{method: "GET", path: room + "/messages", token: ann.token, status: 200, into: &read}, func() bool { return len(read.Messages) > 0 })
	ann.do(call{method: "GET", path: room + "/messages?after=0&limit=10", status: 200})
	ann.do(call{method: "GET", path: room + "/messages?before=100", status: 200})
	for _, query := range []string{"after=x", "limit=0", "before=0"} {
		ann.do(call{method: "GET", path: room + "/messages?" + query, status: 400, problem: "invalid-request", broken: true})
	}
	ann.do(call{method: "GET", path: room + "/messages?before=1&after=1", status: 400, problem: "invalid-request"}) // the file cannot say that
	ann.do(call{method: "DELETE", path: room + "/join", status: 204})
	for _, c := range []call{
		{method: "GET", path: "/api/rooms/nothing/messages"}, {method: "POST", path: "/api/rooms/nothing/messages", body: map[string]string{"text": "hello"}},
		{method: "POST", path: "/api/rooms/nothing/join"}, {method: "DELETE", path: "/api/rooms/nothing/join"}, {method: "GET", path: "/api/rooms/nothing/ws"},
	} {
		c.status, c.problem = 404, "room-not-found"
		ann.do(c)
	}
}

// walkArtists reads artists until the mirror has them.
func walkArtists(t *testing.T, w *walker) {
	var view struct{ Freshness string }
	var missing struct{ LastCheckedAt *string }
	w.do(t, call{method: "GET", path: "/api/artists/42", status: 200, into: &view})
	waitFor(t, w, call{method: "GET", path: "/api/artists/42", status: 200, into: &view}, func() bool { return view.Freshness == "FRESH" })
	w.do(t, call{method: "GET", path: "/api/artists/a.b", status: 400, problem: "invalid-request", broken: true})
	waitFor(t, w, call{method: "GET", path: "/api/artists/99999", status: 200, into: &missing}, func() bool { return missing.LastCheckedAt != nil })
	w.read(t, "/api/artists/42/history?limit=1", 200)
	w.read(t, "/api/artists/never-read/history", 200)
	w.do(t, call{method: "GET", path: "/api/artists/42/history?limit=51", status: 400, problem: "invalid-request", broken: true})
	ann := w.fan(t, "artist-ann")
	for id, answer := range map[string]call{
		"42": {status: 202}, "4242": {status: 202}, "99999": {status: 404, problem: "artist-not-found"}, "a.b": {status: 400, problem: "invalid-request", broken: true},
	} {
		answer.method, answer.path = "POST", "/api/artists/"+id+"/refresh"
		ann.do(answer)
	}
}
