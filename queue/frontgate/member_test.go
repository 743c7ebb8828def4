package frontgate_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue/frontgate"
)

func by(member string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("X-Member", member) }
}

// A position that a member took is nothing to another one, at the gate and behind it.
// A position that was taken without a sign-in is for all that have it.
func TestAPositionIsItsMembers(t *testing.T) {
	s := newSite(t, frontgate.HTTPConfig{Member: func(r *http.Request) string { return r.Header.Get("X-Member") }})
	activate(t, s.gate)
	ann := s.ask("POST", "/vwr/assign/show-1", "", by("ann")).body["requestId"].(string)
	all := s.ask("POST", "/vwr/assign/show-1", "").body["requestId"].(string)
	_, err := s.gate.Advance(t.Context(), "show-1", 2)
	require.NoError(t, err)
	tokens := map[string]string{}
	for _, c := range []struct {
		id, member string
		status     int
	}{{ann, "ann", 200}, {ann, "bob", 404}, {ann, "", 404}, {all, "", 200}, {all, "bob", 200}} {
		a := s.ask("GET", "/vwr/check/show-1/"+c.id, "", by(c.member))
		if a.Code != c.status {
			t.Errorf("%q checks: %d %s", c.member, a.Code, a.Body)
		}
		if a.Code == 200 {
			tokens[c.id] = a.body["token"].(string)
		}
	}
	for _, c := range []struct {
		id, member string
		position   int64
	}{{ann, "ann", 1}, {ann, "bob", 0}, {ann, "", 0}, {all, "", 2}, {all, "bob", 2}} {
		position, err := s.gate.Position(t.Context(), "show-1", tokens[c.id], c.member)
		if position != c.position || (err == nil) != (c.position > 0) || err != nil && !badToken(err) {
			t.Errorf("the token, brought by %q, has position %d, %v; want %d", c.member, position, err, c.position)
		}
		want := map[bool]int{true: http.StatusOK, false: http.StatusFound}[c.position > 0]
		assert.Equalf(t, want, s.ask("GET", "/events/show-1", "", by(c.member), header(tokens[c.id])).Code, "the page, for %q", c.member)
		r, err := http.NewRequestWithContext(t.Context(), "POST", "/", nil)
		require.NoError(t, err)
		by(c.member)(r)
		header(tokens[c.id])(r)
		if position, err := s.h.Position(r, "show-1"); position != c.position || err != nil {
			t.Errorf("the handlers say that %q has position %d, %v; want %d", c.member, position, err, c.position)
		}
		if position, err := s.h.NewPosition(r, "show-1"); (position > 0) != (c.position > 0) || err != nil {
			t.Errorf("%q is given a new position: %d, %v", c.member, position, err)
		}
	}
}

// A member has one position, on each device; a visitor without a sign-in takes another one. A
// position that another visitor has used is replaced nevertheless.
func TestAMemberHasOnePosition(t *testing.T) {
	s := newSite(t, frontgate.HTTPConfig{Member: func(r *http.Request) string { return r.Header.Get("X-Member") }})
	activate(t, s.gate)
	take := func(edit ...func(*http.Request)) (id string, position float64) {
		body := s.ask("POST", "/vwr/assign/show-1", "", edit...).body
		return body["requestId"].(string), body["position"].(float64)
	}
	phone, first := take(by("ann"), browser("Zk3vQ0d8x2nB7sL1mPq4tA"))
	if _, other := take(); other != 2 {
		t.Errorf("a visitor without a sign-in has position %v", other)
	}
	laptop, again := take(by("ann"), browser("0f1e2d3c4b5a69788796a5b4c3d2e1f0"))
	if _, bob := take(by("bob")); first != 1 || again != 1 || bob != 3 {
		t.Errorf("ann has positions %v and %v, bob %v; want 1, 1 and 3", first, again, bob)
	}
	_, err := s.gate.Advance(t.Context(), "show-1", 1)
	require.NoError(t, err)
	for _, id := range []string{phone, laptop} {
		a := s.ask("GET", "/vwr/check/show-1/"+id, "", by("ann"))
		a.is(t, 200, map[string]any{"admitted": true, "position": 1.0})
		r := httptest.NewRequest("POST", "/", nil)
		by("ann")(r)
		header(a.body["token"].(string))(r)
		if position, err := s.h.NewPosition(r, "show-1"); position < 4 || err != nil {
			t.Errorf("a new position for ann: %d, %v", position, err)
		}
	}
	if _, position := take(by("ann")); position != 1 {
		t.Errorf("ann has position %v after that", position)
	}
	s.store.lose(t)
	activate(t, s.gate)
	if _, position := take(by("ann")); position != 1 {
		t.Errorf("ann has position %v of new counters", position)
	}
}

func browser(id string) func(*http.Request) {
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "urr-vwr-browser", Value: id}) }
}

// A position that a browser took without a sign-in is nothing to another browser. Its visitor may
// sign in later. An id that could be guessed names no browser.
func TestAPositionIsItsBrowsers(t *testing.T) {
	const own, foreign, short = "Zk3vQ0d8x2nB7sL1mPq4tA", "0f1e2d3c4b5a69788796a5b4c3d2e1f0", "guess"
	s := newSite(t, frontgate.HTTPConfig{Member: func(r *http.Request) string { return r.Header.Get("X-Member") }})
	activate(t, s.gate)
	taken := func(edit ...func(*http.Request)) string {
		return s.ask("POST", "/vwr/assign/show-1", "", edit...).body["requestId"].(string)
	}
	ids := map[string]string{"own": taken(browser(own)), "short": taken(browser(short)), "posing": taken(browser(own), by("browser:x"))}
	_, err := s.gate.Advance(t.Context(), "show-1", 3)
	require.NoError(t, err)
	tokens := map[string]string{}
	for name, id := range ids {
		with := browser(own)
		tokens[name] = s.ask("GET", "/vwr/check/show-1/"+id, "", with).body["token"].(string)
		claims := jwt.MapClaims{}
		if _, _, err := jwt.NewParser().ParseUnverified(tokens[name], claims); err != nil || claims["uid"] == own {
			t.Errorf("the token of %s shows the browser's id", name)
		}
	}
	for _, c := range []struct {
		name  string
		by    []func(*http.Request)
		valid bool
	}{
		{"own", []func(*http.Request){browser(own)}, true},
		{"own", []func(*http.Request){browser(own), by("ann")}, true},
		{"own", []func(*http.Request){browser(foreign)}, false},
		{"own", []func(*http.Request){by("ann")}, false},
		{"own", nil, false},
		{"posing", []func(*http.Request){browser(own)}, true},
		{"posing", []func(*http.Request){by("browser:x")}, false},
		{"short", []func(*http.Request){browser(foreign)}, true},
		{"short", nil, true},
	} {
		checked, page := http.StatusNotFound, http.StatusFound
		if c.valid {
			checked, page = http.StatusOK, http.StatusOK
		}
		assert.Equalf(t, checked, s.ask("GET", "/vwr/check/show-1/"+ids[c.name], "", c.by...).Code, "the check of %+v", c)
		assert.Equalf(t, page, s.ask("GET", "/events/show-1", "", append(c.by, header(tokens[c.name]))...).Code, "the page of %+v", c)
	}
}
