package queuehttp_test

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/internal/tokens"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/token"
)

// tokenRefusal is an error of a gate that refuses a token.
var tokenRefusal = seal.ErrSignature

const required = `{"error":"Queue entry token required","redirectTo":"/queue"}`

func newRing(t testing.TB, secrets ...string) *token.Ring {
	t.Helper()
	ring, err := token.NewRing(secrets...)
	check(t, err)
	return ring
}

func issue(t testing.TB, ring *token.Ring, c token.EntryClaims) string {
	t.Helper()
	entries, err := token.NewEntries(ring, token.Config{})
	check(t, err)
	text, err := entries.Issue(c)
	check(t, err)
	return text
}

// The guard refuses every token but the user's own for the event, for reads and
// for writes, in the header and in the cookie.
func TestGuardRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 10, nil)
		ours := newRing(t, secret)
		alice := s.browser("alice")
		in := alice.check("show-1")
		good := in.body.EntryToken
		c, err := s.entries.Verify(good, "show-1")
		check(t, err)

		gates, err := tokens.NewGates(ours, tokens.Config{})
		check(t, err)
		gate, err := gates.Issue(tokens.GateClaims{Event: "show-1", Position: 1})
		check(t, err)
		parts := strings.Split(good, ".")
		part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
		ended := c
		ended.IssuedAt, ended.ExpiresAt = time.Now().Add(-time.Hour), time.Now().Add(-time.Second)
		early := c
		early.IssuedAt, early.ExpiresAt = time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
		unsigned := jwt.New(jwt.SigningMethodNone)
		unsigned.Claims = jwt.MapClaims{"sub": "show-1", "uid": "alice", "jti": c.ID, "exp": time.Now().Add(time.Hour).Unix()}
		none, err := unsigned.SignedString(jwt.UnsafeAllowNoneSignatureType)
		check(t, err)

		for _, bad := range []struct{ name, token, reason string }{
			{"forged with another secret", issue(t, newRing(t, strings.Repeat("x", 32)), c), "bad_signature"},
			{"changed claims", parts[0] + "." + part(`{"uid":"alice","sub":"show-1"}`) + "." + parts[2], "bad_signature"},
			{"expired", issue(t, ours, ended), "expired"},
			{"not yet valid", issue(t, ours, early), "not_yet_valid"},
			{"a front gate's", gate, "wrong_type"},
			{"a ticket", seal.NewTickets(ours).Seal(seal.Ticket{Event: "show-1", User: "alice"}), "malformed"},
			{"another user's", issue(t, ours, token.EntryClaims{Event: "show-1", User: "bob", ID: c.ID}), "wrong_user"},
			{"another event's", issue(t, ours, token.EntryClaims{Event: "show-2", User: "alice", ID: c.ID}), "wrong_event"},
			{"alg none", none, "wrong_algorithm"},
			{"alg changed to RS256", part(`{"alg":"RS256","typ":"entry+jwt"}`) + "." + parts[1] + "." + parts[2], "wrong_algorithm"},
			{"alg changed to HS384", part(`{"alg":"HS384","typ":"entry+jwt"}`) + "." + parts[1] + "." + parts[2], "wrong_algorithm"},
			{"no token at all", "true", "malformed"},
			{"too large", good + strings.Repeat("A", 4096), "malformed"},
		} {
			for _, way := range []string{"header", "cookie"} {
				b := s.browser("alice")
				if way == "header" {
					b.header.Set("x-queue-entry-token", bad.token)
					b.cookies = maps.Clone(alice.cookies) // with the good one, which must not help
				} else {
					b.cookies["urr-entry-token-show-1"] = &http.Cookie{Name: "urr-entry-token-show-1", Value: bad.token}
				}
				for _, path := range []string{"GET /seats/show-1", "POST /reserve/show-1"} {
					method, path, _ := strings.Cut(path, " ")
					a := b.do(method, path, "")
					want := `{"error":"Queue entry token invalid","reason":"` + bad.reason + `","redirectTo":"/queue"}`
					if a.status != 403 || a.text != want || a.header.Get("Content-Type") != "application/json" {
						t.Errorf("%s in the %s, %s: %d %s, want %s", bad.name, way, path, a.status, a.text, want)
					}
				}
			}
		}

		for _, path := range []string{"GET /seats/show-1", "POST /reserve/show-1", "GET /seats/show-1?x-queue-entry-token=" + good + "&token=" + good} {
			method, path, _ := strings.Cut(path, " ")
			if a := s.browser("alice").do(method, path, ""); a.status != 403 || a.text != required {
				t.Errorf("%s without a token: %d %s", path, a.status, a.text)
			}
			empty := s.browser("alice")
			empty.cookies = maps.Clone(alice.cookies)
			empty.header["X-Queue-Entry-Token"] = []string{""}
			if a := empty.do(method, path, ""); a.status != 403 || a.text != required {
				t.Errorf("%s with an empty header: %d %s", path, a.status, a.text)
			}
			if a := alice.do(method, path, ""); a.status != 200 || a.text != "served" {
				t.Errorf("%s with the cookie: %d %s", path, a.status, a.text)
			}
			api := s.browser("alice")
			api.header.Set("x-queue-entry-token", good)
			if a := api.do(method, path, ""); a.status != 200 || a.text != "served" {
				t.Errorf("%s with the header: %d %s", path, a.status, a.text)
			}
		}
		if a := alice.do("GET", "/seats/show-2", ""); a.status != 403 || a.text != required {
			t.Errorf("the cookie of one event at another: %d %s", a.status, a.text)
		}
	})
}

// A token from before leaving is refused for every write, also after its user has
// come back in.
func TestReplayAfterLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 10, nil)
		alice := s.browser("alice")
		old := alice.check("show-1").body.EntryToken
		replay := s.browser("alice")
		replay.header.Set("x-queue-entry-token", old)
		if a := replay.do("POST", "/reserve/show-1", ""); a.status != 200 {
			t.Fatalf("inside: %d %s", a.status, a.text)
		}
		refused := func(when string) {
			t.Helper()
			if a := replay.do("POST", "/reserve/show-1", ""); a.status != 403 || a.body.Reason != "not_active" || a.body.RedirectTo != "/queue" {
				t.Errorf("%s: %d %s", when, a.status, a.text)
			}
		}
		alice.do("POST", "/api/queue/leave/show-1", "")
		refused("after leaving")
		again := alice.check("show-1").body.EntryToken
		refused("after coming back")
		replay.header.Set("x-queue-entry-token", again)
		if a := replay.do("POST", "/reserve/show-1", ""); a.status != 200 {
			t.Errorf("with the new token: %d %s", a.status, a.text)
		}
		alice.do("POST", "/api/queue/done/show-1", "")
		refused("when done")
		again = alice.check("show-1").body.EntryToken
		replay.header.Set("x-queue-entry-token", again)
		s.browser("admin").do("POST", "/api/queue/admin/clear/show-1", "")
		refused("after everybody was taken out")
		time.Sleep(600 * time.Second)
		if a := replay.do("POST", "/reserve/show-1", ""); a.status != 403 || a.body.Reason != "expired" {
			t.Errorf("after its end: %d %s", a.status, a.text)
		}
	})
}

// The token ends with the place, not later.
func TestTokenEndsWithThePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 10, nil)
		alice := s.browser("alice")
		alice.check("show-1")
		for range 4 {
			time.Sleep(100 * time.Second)
			alice.check("show-1")
		}
		a := alice.check("show-1")
		c, err := s.entries.Verify(a.body.EntryToken, "show-1")
		check(t, err)
		if left := time.Until(c.ExpiresAt); left > 200*time.Second || left < 198*time.Second || a.body.ExpiresIn > 200 || a.body.ExpiresIn < 199 {
			t.Errorf("400 s after the admission the token has %s left, the answer says %d s", left, a.body.ExpiresIn)
		}
		if cookie := alice.cookies["urr-entry-token-show-1"]; cookie.MaxAge > 200 || cookie.MaxAge < 199 {
			t.Errorf("the cookie has %d s left", cookie.MaxAge)
		}
	})
}

// A trusted edge takes the requests that it has signed past the guard; no other
// header does.
func TestEdgePass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		edge := newRing(t, strings.Repeat("e", 32))
		s := newSite(t, 10, func(c *queuehttp.Config) { c.PassKeys = edge })
		deaf := newSite(t, 10, nil) // trusts no edge
		try := func(s *site, user, method, path, pass string) reply {
			b := s.browser(user)
			b.header.Set("x-queue-pass", pass)
			return b.do(method, path, "")
		}
		seats := token.Pass{Method: "GET", Path: "/seats/show-1", Event: "show-1", User: "alice"}
		good := seats.Sign(edge)
		for _, path := range []string{"/seats/show-1", "/seats/show-1?part=A"} {
			if a := try(s, "alice", "GET", path, good); a.status != 200 || a.text != "served" {
				t.Errorf("%s with a pass: %d %s", path, a.status, a.text)
			}
		}
		write := token.Pass{Method: "POST", Path: "/reserve/show-1", Event: "show-1", User: "alice"}.Sign(edge)
		withUser := func(user string) token.Pass { p := seats; p.User = user; return p }
		other := newRing(t, secret) // signs entry tokens, not passes of the edge
		for _, c := range []struct {
			name                     string
			s                        *site
			user, method, path, pass string
		}{
			{"there and no more", s, "alice", "GET", "/seats/show-1", "1"},
			{"true", s, "alice", "GET", "/seats/show-1", "true"},
			{"by another key", s, "alice", "GET", "/seats/show-1", seats.Sign(other)},
			{"an entry token", s, "alice", "GET", "/seats/show-1", issue(t, other, token.EntryClaims{Event: "show-1", User: "alice", ID: "1-1"})},
			{"another user", s, "bob", "GET", "/seats/show-1", good},
			{"another method", s, "alice", "POST", "/seats/show-1", good},
			{"another event", s, "alice", "GET", "/seats/show-2", good},
			{"nobody in it", s, "alice", "GET", "/seats/show-1", withUser("").Sign(edge)},
			{"a path that is escaped otherwise", s, "alice", "GET", "/seats/show%2D1", good},
			{"a write", s, "alice", "POST", "/reserve/show-1", write},
			{"where no edge is trusted", deaf, "alice", "GET", "/seats/show-1", good},
		} {
			if a := try(c.s, c.user, c.method, c.path, c.pass); a.status != 403 || a.text != required {
				t.Errorf("%s: %d %s", c.name, a.status, a.text)
			}
		}
		if a := try(s, "", "GET", "/seats/show-1", withUser("").Sign(edge)); a.status != 401 {
			t.Errorf("nobody signed in: %d %s", a.status, a.text)
		}
		r := httptest.NewRequest("GET", "/seats/show-1", nil)
		r.Header.Set("x-queue-pass", withUser("").Sign(edge))
		assert.ErrorIs(t, s.handlers.Admit(r, "", "show-1"), token.ErrMissing, "a pass for nobody")
		// A bad pass takes nothing from a user with a token.
		alice := s.browser("alice")
		alice.check("show-1")
		alice.header.Set("x-queue-pass", "1")
		if a := alice.do("GET", "/seats/show-1", ""); a.status != 200 {
			t.Errorf("a token with a bad pass: %d %s", a.status, a.text)
		}
		time.Sleep(31 * time.Second)
		if a := try(s, "alice", "GET", "/seats/show-1", good); a.status != 403 {
			t.Errorf("31 s later: %d %s", a.status, a.text)
		}
	})
}

// The pass is for the path that the client sent, even if a mux has changed it.
func TestEdgePassBehindAStrippedPrefix(t *testing.T) {
	edge := newRing(t, strings.Repeat("e", 32))
	s := newSite(t, 10, func(c *queuehttp.Config) { c.PassKeys = edge })
	outer := http.NewServeMux()
	outer.Handle("/shop/", http.StripPrefix("/shop", s.mux))
	for path, want := range map[string]int{"/shop/seats/show-1": 200, "/seats/show-1": 403} {
		r := httptest.NewRequest("GET", "/shop/seats/show-1", nil)
		r.Header.Set("X-User", "alice")
		r.Header.Set("x-queue-pass", token.Pass{Method: "GET", Path: path, Event: "show-1", User: "alice"}.Sign(edge))
		w := httptest.NewRecorder()
		outer.ServeHTTP(w, r)
		assert.Equalf(t, want, w.Code, "a pass for %s", path)
	}
}
