package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestGate: positions, their order in the waiting room's line, and access by the
// gate.
func TestGate(t *testing.T) {
	o := newOffice(t, nil)
	admin := func(method, does, body string) reply {
		t.Helper()
		return o.do(call{method: method, path: "/api/admin/vwr/" + does + "/show-1", token: adminToken, body: body})
	}
	assign := call{method: "POST", path: "/vwr/assign/show-1"}
	if r := o.do(assign); r.status != 409 || r.body["type"] != "/problems/gate-off" || r.body["redirectTo"] != "/queue/show-1" {
		t.Errorf("while it is off: %d %s", r.status, r.text)
	}
	page := o.api.Edge(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	look := func(cookies ...*http.Cookie) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/events/show-1", nil)
		r.SetPathValue("eventId", "show-1")
		for _, c := range cookies {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		page.ServeHTTP(w, r)
		return w
	}
	assert.Equal(t, http.StatusTeapot, look().Code, "the page, while the gate is off")
	ann, _ := o.member("ann", "show-1") // was inside before
	inside := o.queue("heartbeat", "show-1", ann).cookies
	if r := admin("POST", "activate", ""); r.status != 200 || r.body["active"] != true {
		t.Fatalf("activate: %d %s", r.status, r.text)
	}
	if w := look(); w.Code != http.StatusFound || w.Header().Get("Location") != "/vwr/show-1" {
		t.Errorf("the page: %d to %s", w.Code, w.Header().Get("Location"))
	}
	assert.Equal(t, http.StatusTeapot, look(inside...).Code, "the page, for who is inside")
	bob := o.login("bob")
	if r := o.queue("check", "show-1", bob); r.status != 200 || r.body["status"] != "none" || r.body["redirectTo"] != "/vwr/show-1" {
		t.Errorf("past the gate: %d %s", r.status, r.text)
	}
	var requests []string
	for n := 1; n <= 2; n++ {
		r := o.do(assign)
		if r.status != 200 || r.body["position"] != float64(n) {
			t.Fatalf("number %d: %d %s", n, r.status, r.text)
		}
		requests = append(requests, fmt.Sprint(r.body["requestId"]))
	}
	turn := func(n int) reply {
		t.Helper()
		return o.do(call{method: "GET", path: "/vwr/check/show-1/" + requests[n]})
	}
	if r := turn(1); r.status != 200 || r.body["admitted"] != false || r.body["token"] != nil || len(r.cookies) != 0 {
		t.Errorf("before the turn: %d %s", r.status, r.text)
	}
	if r := admin("POST", "advance", `{"by":5}`); r.status != 200 || r.body["servingCounter"] != 2.0 {
		t.Errorf("advance: %d %s", r.status, r.text)
	}
	passes := map[int][]*http.Cookie{}
	for n := range requests {
		r := turn(n)
		if r.status != 200 || r.body["admitted"] != true || len(r.cookies) != 1 || r.cookies[0].Name != "urr-vwr-token" {
			t.Fatalf("the turn of %d: %d %s", n, r.status, r.text)
		}
		passes[n] = r.cookies
	}
	assert.Equal(t, http.StatusTeapot, look(passes[1]...).Code, "the page, past the gate")
	// The line keeps the gate's order, regardless of the order of arrival.
	if r := o.do(call{method: "PUT", path: "/api/queue/admin/threshold/show-1", token: adminToken, body: `{"threshold":1}`}); r.status != 200 {
		t.Fatalf("threshold: %d %s", r.status, r.text)
	}
	check := func(who string, n int) reply {
		t.Helper()
		return o.do(call{method: "POST", path: "/api/queue/check/show-1", token: who, cookies: passes[n]})
	}
	cat := o.login("cat")
	if r := check(cat, 1); r.body["status"] != "queued" || r.body["position"] != 1.0 {
		t.Errorf("the second: %s", r.text)
	}
	if r := check(bob, 0); r.body["status"] != "queued" || r.body["position"] != 1.0 {
		t.Errorf("the first: %s", r.text)
	}
	if r := o.queue("check", "show-1", cat); r.body["position"] != 2.0 {
		t.Errorf("the second, behind the first: %s", r.text)
	}
	// A friend with the pass of the first visitor stands behind all others.
	if r := check(o.login("dan"), 0); r.body["status"] != "queued" || r.body["position"] != 3.0 {
		t.Errorf("a friend of the first: %s", r.text)
	}
	// The pass is no entry token, and another show's gate is not this one.
	for _, c := range passes[0] {
		if r := o.do(call{method: "GET", path: "/api/seats/show-1", token: bob, entry: c.Value}); r.status != 403 || r.body["reason"] != "wrong_type" {
			t.Errorf("the pass as an entry token: %d %s", r.status, r.text)
		}
	}
	if r := o.do(call{method: "GET", path: "/vwr/check/show-2/" + requests[0]}); r.status != 404 {
		t.Errorf("the request id of another show: %d %s", r.status, r.text)
	}
	if r := admin("POST", "deactivate", ""); r.status != 200 || r.body["active"] != false {
		t.Errorf("deactivate: %d %s", r.status, r.text)
	}
	if r := admin("GET", "status", ""); r.status != 200 || r.body["nextPosition"] != 3.0 {
		t.Errorf("status: %d %s", r.status, r.text)
	}
	assert.Equal(t, http.StatusTeapot, look().Code, "the page, when it is off again")
}

func TestGateBadInput(t *testing.T) {
	o := newOffice(t, nil)
	for name, c := range map[string]struct {
		call
		status int
		typ    string
	}{
		"assign: unknown show":    {call{method: "POST", path: "/vwr/assign/show-9"}, 404, "show-not-found"},
		"check: unknown show":     {call{method: "GET", path: "/vwr/check/show-9/x"}, 404, "show-not-found"},
		"check: no request":       {call{method: "GET", path: "/vwr/check/show-1/x"}, 404, "request-not-found"},
		"assign by GET":           {call{method: "GET", path: "/vwr/assign/show-1"}, 405, "method-not-allowed"},
		"activate: unknown show":  {call{method: "POST", path: "/api/admin/vwr/activate/show-9", token: adminToken}, 404, "show-not-found"},
		"advance: not JSON":       {call{method: "POST", path: "/api/admin/vwr/advance/show-1", token: adminToken, body: `{`}, 400, "invalid-request"},
		"advance: by nothing":     {call{method: "POST", path: "/api/admin/vwr/advance/show-1", token: adminToken, body: `{"by":-1}`}, 400, "invalid-request"},
		"activate: nobody":        {call{method: "POST", path: "/api/admin/vwr/activate/show-1"}, 401, "admin-token-required"},
		"deactivate: a member":    {call{method: "POST", path: "/api/admin/vwr/deactivate/show-1", token: o.login("ann")}, 403, "admin-token-wrong"},
		"advance: wrong token":    {call{method: "POST", path: "/api/admin/vwr/advance/show-1", token: adminToken + "x"}, 403, "admin-token-wrong"},
		"status: wrong token":     {call{method: "GET", path: "/api/admin/vwr/status/show-1", token: "x"}, 403, "admin-token-wrong"},
		"threshold: nobody":       {call{method: "PUT", path: "/api/queue/admin/threshold/show-1", body: `{"threshold":1}`}, 401, "admin-token-required"},
		"pause: a member":         {call{method: "POST", path: "/api/queue/admin/pause/show-1", token: o.login("ann")}, 403, "admin-token-wrong"},
		"clear: wrong token":      {call{method: "POST", path: "/api/queue/admin/clear/show-1", token: "x"}, 403, "admin-token-wrong"},
		"room status: no token":   {call{method: "GET", path: "/api/queue/admin/status/show-1"}, 401, "admin-token-required"},
		"nothing below /vwr/":     {call{method: "GET", path: "/vwr/check/"}, 404, "not-found"},
		"a body that is too long": {call{method: "POST", path: "/vwr/assign/show-1", body: string(make([]byte, 2<<20))}, 413, "too-large"},
	} {
		if r := o.do(c.call); r.status != c.status || r.body["type"] != "/problems/"+c.typ {
			t.Errorf("%s: %d %s, want %d %s", name, r.status, r.text, c.status, c.typ)
		}
	}
}
