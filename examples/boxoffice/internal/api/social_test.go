package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/api"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/social"
)

// withSocial is an office whose members do more than book.
func withSocial(t *testing.T) *office {
	t.Helper()
	box := boxtest.New(t)
	o := newOffice(t, func(c *api.Config) {
		c.Store, c.Catalog, c.Booking, c.Payments, c.Social = box.Store, box.Catalog, box.Booking, box.Payments, box.Social
	})
	o.box = box
	return o
}

// want asks and wants a status, and for a problem its name and field.
func (o *office) want(c call, status int, problem ...string) reply {
	o.t.Helper()
	r := o.do(c)
	if r.status != status {
		o.t.Fatalf("%s %s: %d %s, want %d", c.method, c.path, r.status, r.text, status)
	}
	if len(problem) > 0 && r.body["type"] != "/problems/"+problem[0] {
		o.t.Errorf("%s %s: %s", c.method, c.path, r.text)
	}
	if len(problem) > 1 && r.body["field"] != problem[1] {
		o.t.Errorf("%s %s: %s", c.method, c.path, r.text)
	}
	return r
}

func TestCommentRoutes(t *testing.T) {
	o := withSocial(t)
	ann, bob := o.login("ann"), o.login("bob")
	const path = "/api/shows/show-1/comments"
	post := func(text string) call {
		return call{method: "POST", path: path, token: ann, body: map[string]string{"text": text}}
	}
	r := o.want(post("  Bravo  "), 201)
	id, _ := r.body["id"].(string)
	if id == "" || r.body["text"] != "Bravo" || r.body["memberId"] != "ann" {
		t.Fatal(r.text)
	}
	o.want(post(strings.Repeat("한", 1000)), 201)
	o.want(post(strings.Repeat("한", 1001)), 400, "invalid-request", "text")
	o.want(post(" \n "), 400, "invalid-request", "text")
	o.want(post("a\x00b"), 400, "invalid-request", "text")
	o.want(call{method: "POST", path: path, token: ann, body: `{"txt":"x"}`}, 400, "invalid-request", "txt")
	o.want(call{method: "POST", path: path, body: `{"text":"x"}`}, 401, "sign-in-required")
	o.want(call{method: "POST", path: "/api/shows/show-9/comments", token: ann, body: `{"text":"x"}`}, 404, "show-not-found")

	page := o.want(call{method: "GET", path: path + "?limit=1"}, 200).body["comments"].([]any)
	newest := page[0].(map[string]any)
	if len(page) != 1 || newest["id"] == id {
		t.Error(page)
	}
	page = o.want(call{method: "GET", path: path + "?limit=1&before=" + newest["id"].(string)}, 200).body["comments"].([]any)
	if len(page) != 1 || page[0].(map[string]any)["id"] != id {
		t.Error(page)
	}
	for _, bad := range []string{"0", "101", "x", "-1"} {
		o.want(call{method: "GET", path: path + "?limit=" + bad}, 400, "invalid-request", "limit")
	}
	o.want(call{method: "GET", path: path + "?before=%20"}, 400, "invalid-request", "before")
	if r := o.want(call{method: "GET", path: "/api/shows/show-2/comments"}, 200); strings.TrimSpace(r.text) != `{"comments":[]}` {
		t.Error(r.text)
	}

	o.want(call{method: "DELETE", path: "/api/comments/" + id, token: bob}, 403, "not-your-comment")
	o.want(call{method: "DELETE", path: "/api/comments/none", token: ann}, 404, "comment-not-found")
	o.want(call{method: "DELETE", path: "/api/comments/" + id, token: ann}, 204)
	o.want(call{method: "DELETE", path: "/api/comments/" + id, token: ann}, 204)
	if r := o.want(call{method: "GET", path: path}, 200); strings.Contains(r.text, "Bravo") {
		t.Error(r.text)
	}
}

func TestLikeAndFollowRoutes(t *testing.T) {
	o := withSocial(t)
	ann := o.login("ann")
	o.login("bob")
	for _, c := range []struct {
		method, path string
		status       int
		problem      string
	}{
		{"POST", "/api/shows/show-1/like", 204, ""},
		{"POST", "/api/shows/show-1/like", 204, ""},
		{"POST", "/api/shows/show-2/like", 204, ""},
		{"DELETE", "/api/shows/show-2/like", 204, ""},
		{"DELETE", "/api/shows/show-2/like", 204, ""},
		{"POST", "/api/shows/show-9/like", 404, "show-not-found"},
		{"DELETE", "/api/shows/show-9/like", 404, "show-not-found"},
		{"POST", "/api/members/bob/follow", 204, ""},
		{"POST", "/api/members/ann/follow", 422, "self-follow"},
		{"POST", "/api/members/nobody/follow", 404, "member-not-found"},
	} {
		r := o.want(call{method: c.method, path: c.path, token: ann}, c.status)
		if c.problem != "" && r.body["type"] != "/problems/"+c.problem {
			t.Errorf("%s %s: %s", c.method, c.path, r.text)
		}
	}
	if r := o.want(call{method: "GET", path: "/api/me/likes", token: ann}, 200); strings.TrimSpace(r.text) != `{"shows":["show-1"]}` {
		t.Error(r.text)
	}
	if r := o.want(call{method: "GET", path: "/api/me/follows", token: ann}, 200); strings.TrimSpace(r.text) != `{"members":["bob"]}` {
		t.Error(r.text)
	}
	o.want(call{method: "DELETE", path: "/api/members/bob/follow", token: ann}, 204)
	if r := o.want(call{method: "GET", path: "/api/me/follows", token: ann}, 200); strings.TrimSpace(r.text) != `{"members":[]}` {
		t.Error(r.text)
	}
	for _, path := range []string{"GET /api/me/likes", "GET /api/me/follows", "POST /api/shows/show-1/like", "POST /api/members/bob/follow", "POST /api/shows/show-1/vote", "DELETE /api/comments/x"} {
		method, path, _ := strings.Cut(path, " ")
		o.want(call{method: method, path: path}, 401, "sign-in-required")
	}
}

func TestVoteRoutes(t *testing.T) {
	o := withSocial(t)
	ann := o.login("ann")
	const path = "/api/shows/show-1/vote"
	option := social.Options()[1]
	o.want(call{method: "POST", path: path, token: ann, body: map[string]string{"option": option}}, 204)
	o.want(call{method: "POST", path: path, token: ann, body: `{"option":"x"}`}, 422, "unknown-option", "option")
	o.want(call{method: "POST", path: path, token: ann, body: `{}`}, 400, "invalid-request", "option")
	o.want(call{method: "POST", path: "/api/shows/show-9/vote", token: ann, body: map[string]string{"option": option}}, 404, "show-not-found")
	r := o.want(call{method: "GET", path: path, token: ann}, 200)
	counts, _ := r.body["counts"].(map[string]any)
	if r.body["choice"] != option || counts[option] != 1.0 || len(counts) != len(social.Options()) || r.body["open"] != true || r.body["closedAt"] != nil || r.body["closesAt"] == nil {
		t.Error(r.text)
	}
	if r := o.want(call{method: "GET", path: path}, 200); r.body["choice"] != "" {
		t.Error(r.text)
	}
	o.want(call{method: "GET", path: path, token: "stale"}, 401, "sign-in-required")

	o.want(call{method: "POST", path: path + "/close", token: ann}, 403, "admin-token-wrong")
	o.want(call{method: "POST", path: path + "/close"}, 401, "admin-token-required")
	o.want(call{method: "POST", path: path + "/close", token: adminToken}, 204)
	o.want(call{method: "POST", path: path, token: ann, body: map[string]string{"option": option}}, 409, "vote-closed")
	if r := o.want(call{method: "GET", path: path}, 200); r.body["open"] != false || r.body["closedAt"] == nil {
		t.Error(r.text)
	}
	assert.True(t, o.box.Outbox.Saw(events.VoteClosed, "show-1"), "nobody is told")
	o.box.Exec(t, `DELETE FROM votes WHERE show_id = 'show-2'`)
	o.want(call{method: "GET", path: "/api/shows/show-2/vote"}, 404, "vote-not-found")
}

func TestViewRoute(t *testing.T) {
	o := withSocial(t)
	o.want(call{method: "GET", path: "/api/shows/show-1"}, 200) // no view
	o.box.Outbox.Take()
	o.want(call{method: "POST", path: "/api/shows/show-1/view", body: `{}`}, 202)
	o.want(call{method: "POST", path: "/api/shows/show-1/view", token: o.login("ann")}, 202)
	o.want(call{method: "POST", path: "/api/shows/show-9/view"}, 404, "show-not-found")
	all := o.box.Outbox.Take()
	if len(all) != 2 || all[0].ActorID != "" || all[1].ActorID != "ann" || all[1].Key() != "show-1" {
		t.Fatal(all)
	}
	o.box.Deliver(t, all...)
	if r := o.want(call{method: "GET", path: "/api/shows/show-1"}, 200); r.body["viewCount"] != 2.0 {
		t.Error(r.text)
	}
}
