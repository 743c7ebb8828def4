package frontgate_test

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue/frontgate"
)

// site is a gate on HTTP.
type site struct {
	t     *testing.T
	gate  *frontgate.Gate
	store *watched
	h     *frontgate.Handlers
	mux   *http.ServeMux
}

func newSite(t *testing.T, cfg frontgate.HTTPConfig) *site {
	t.Helper()
	s := &site{t: t, store: &watched{Store: memory(t)}, mux: http.NewServeMux()}
	s.gate = newGate(t, s.store, frontgate.Config{Refresh: time.Nanosecond, Stale: time.Minute})
	cfg.Logger = slog.New(slog.DiscardHandler)
	var err error
	if s.h, err = frontgate.NewHandlers(s.gate, cfg); err != nil {
		t.Fatal(err)
	}
	s.h.Mount(s.mux.Handle, "/vwr")
	s.mux.HandleFunc("GET /enter/{eventId}", s.h.Guard)
	s.mux.Handle("GET /events/{eventId}", s.h.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "the seats of "+r.PathValue("eventId"))
	})))
	s.h.MountAdmin(s.mux.Handle, "/api/admin/vwr")
	return s
}

type answer struct {
	*httptest.ResponseRecorder
	body map[string]any
}

func (s *site) ask(method, path, body string, change ...func(*http.Request)) answer {
	s.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for _, c := range change {
		c(r)
	}
	a := answer{ResponseRecorder: httptest.NewRecorder()}
	s.mux.ServeHTTP(a, r)
	if strings.Contains(a.Header().Get("Content-Type"), "json") {
		if err := json.Unmarshal(a.Body.Bytes(), &a.body); err != nil {
			s.t.Fatalf("%s %s: %v", method, path, err)
		}
	}
	if a.Header().Get("Cache-Control") != "no-store" && a.Code != http.StatusOK {
		s.t.Errorf("%s %s: it may be cached: %v", method, path, a.Header())
	}
	return a
}

func (a answer) is(t *testing.T, status int, want map[string]any) {
	t.Helper()
	if a.Code != status {
		t.Fatalf("%d %s, want %d", a.Code, a.Body, status)
	}
	for name, value := range want {
		if a.body[name] != value {
			t.Errorf("%s is %v of %s, want %v", name, a.body[name], a.Body, value)
		}
	}
}

func cookie(c *http.Cookie) func(*http.Request) {
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value}) }
}

func header(value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(frontgate.TokenHeader, value) }
}

func secure(r *http.Request) { r.TLS = &tls.ConnectionState{} }

// The contract of the routes.
func TestHTTP(t *testing.T) {
	s := newSite(t, frontgate.HTTPConfig{})
	s.ask("GET", "/api/admin/vwr/status/show-1", "").is(t, 200, map[string]any{"eventId": "show-1", "active": false, "nextPosition": 0.0})
	s.ask("POST", "/vwr/assign/show-1", "").is(t, 409, map[string]any{"type": "/problems/gate-off", "redirectTo": "/queue/show-1"})
	s.ask("POST", "/api/admin/vwr/activate/show-1", "").is(t, 200, map[string]any{"active": true})
	first := s.ask("POST", "/vwr/assign/show-1", `{"ignored":true}`)
	first.is(t, 200, map[string]any{"position": 1.0})
	s.ask("POST", "/vwr/assign/show-1", "").is(t, 200, map[string]any{"position": 2.0})
	path := "/vwr/check/show-1/" + first.body["requestId"].(string)
	waiting := s.ask("GET", path, "")
	waiting.is(t, 200, map[string]any{"admitted": false, "position": 1.0, "servingCounter": 0.0, "token": nil})
	if next := waiting.body["nextPoll"].(float64); next < 2 || next > 15 || waiting.body["estimatedWait"].(float64) <= 0 {
		t.Errorf("%s", waiting.Body)
	}
	assert.Empty(t, waiting.Result().Cookies(), "a cookie before admission")
	s.ask("POST", "/api/admin/vwr/advance/show-1", `{"by":1}`).is(t, 200, map[string]any{"servingCounter": 1.0, "advanced": 1.0, "waiting": 1.0})
	admitted := s.ask("GET", path, "")
	admitted.is(t, 200, map[string]any{"admitted": true, "position": 1.0, "servingCounter": 1.0, "nextPoll": 0.0})
	if admitted.body["token"] == nil {
		t.Errorf("%s", admitted.Body)
	}
	s.ask("POST", "/api/admin/vwr/advance/show-1", "").is(t, 200, map[string]any{"servingCounter": 2.0, "advanced": 1.0})
	s.ask("POST", "/api/admin/vwr/deactivate/show-1", "").is(t, 200, map[string]any{"active": false, "nextPosition": 2.0, "servingCounter": 2.0})
	// Requests that cannot be valid.
	s.ask("GET", "/vwr/check/show-1/xyz", "").is(t, 404, map[string]any{"type": "/problems/request-not-found"})
	s.ask("GET", strings.Replace(path, "show-1", "show-2", 1), "").is(t, 404, nil)
	s.ask("POST", "/vwr/assign/%7Bx%7D", "").is(t, 400, map[string]any{"type": "/problems/invalid-request"})
	s.ask("POST", "/vwr/assign/show-1", strings.Repeat("x", 2000)).is(t, 413, map[string]any{"type": "/problems/too-large"})
	s.ask("POST", "/vwr/assign/show-1", "", func(r *http.Request) { r.Body = io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF)) }).
		is(t, 400, map[string]any{"type": "/problems/invalid-request"})
	s.ask("POST", "/api/admin/vwr/advance/show-1", strings.Repeat(" ", 2000)+"{}").is(t, 413, nil)
	for _, bad := range []string{`{"by":-1}`, `{"by":"x"}`, `{"to":1}`, `[`} {
		s.ask("POST", "/api/admin/vwr/advance/show-1", bad).is(t, 400, nil)
	}
	s.store.lose(t)
	s.ask("GET", path, "").is(t, 410, map[string]any{"type": "/problems/position-lost"})
}

func TestCookie(t *testing.T) {
	for name, c := range map[string]struct {
		cfg    frontgate.HTTPConfig
		change []func(*http.Request)
		cookie string
		secure bool
	}{
		"http":      {frontgate.HTTPConfig{}, nil, "urr-vwr-token", false},
		"https":     {frontgate.HTTPConfig{}, []func(*http.Request){secure}, "urr-vwr-token", true},
		"proxy":     {frontgate.HTTPConfig{Secure: func(*http.Request) bool { return true }}, nil, "urr-vwr-token", true},
		"per event": {frontgate.HTTPConfig{PerEvent: true, Cookie: "gate"}, nil, "gate-%EC%87%BC-1", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, c.cfg)
			const at = "%EC%87%BC-1"
			s.ask("POST", "/api/admin/vwr/activate/"+at, "").is(t, 200, nil)
			id := s.ask("POST", "/vwr/assign/"+at, "").body["requestId"].(string)
			s.ask("POST", "/api/admin/vwr/advance/"+at, "").is(t, 200, nil)
			a := s.ask("GET", "/vwr/check/"+at+"/"+id, "", c.change...)
			all := a.Result().Cookies()
			if len(all) != 1 {
				t.Fatalf("%d cookies: %v", len(all), a.Header())
			}
			got := all[0]
			if got.Name != c.cookie || got.Value != a.body["token"] || !got.HttpOnly || got.SameSite != http.SameSiteStrictMode ||
				got.Secure != c.secure || got.MaxAge != 600 || got.Path != "/" || got.Domain != "" {
				t.Errorf("%+v", got)
			}
			if a := s.ask("GET", "/enter/"+at, "", cookie(got)); a.Header().Get("Location") != "/events/"+at {
				t.Errorf("with its cookie: %d %v", a.Code, a.Header())
			}
		})
	}
}

// Guard sends visitors where they belong.
func TestGuard(t *testing.T) {
	s := newSite(t, frontgate.HTTPConfig{})
	leads := func(what, path, want string, change ...func(*http.Request)) {
		t.Helper()
		a := s.ask("GET", path, "", change...)
		if want == "" && (a.Code != http.StatusOK || a.Body.String() != "the seats of show-1") || want != "" && (a.Code != http.StatusFound || a.Header().Get("Location") != want) {
			t.Errorf("%s, %s: %d %v %s, want %q", what, path, a.Code, a.Header(), a.Body, want)
		}
	}
	leads("off", "/enter/show-1", "/queue/show-1")
	leads("off", "/events/show-1", "")
	s.ask("POST", "/api/admin/vwr/activate/show-1", "").is(t, 200, nil)
	s.ask("POST", "/api/admin/vwr/activate/show-2", "").is(t, 200, nil)
	id := s.ask("POST", "/vwr/assign/show-1", "").body["requestId"].(string)
	s.ask("POST", "/api/admin/vwr/advance/show-1", "").is(t, 200, nil)
	token := s.ask("GET", "/vwr/check/show-1/"+id, "").body["token"].(string)
	held := cookie(&http.Cookie{Name: "urr-vwr-token", Value: token})
	leads("without a token", "/enter/show-1", "/vwr/show-1")
	leads("without a token", "/events/show-1", "/vwr/show-1")
	leads("with one", "/enter/show-1", "/events/show-1", held)
	leads("with one", "/events/show-1", "", held)
	leads("in the header", "/events/show-1", "", header(token))
	leads("with that of another event", "/enter/show-2", "/vwr/show-2", held)
	leads("with a bad header beside a good cookie", "/enter/show-1", "/vwr/show-1", held, header("x"))
	leads("with an empty header beside a good cookie", "/enter/show-1", "/vwr/show-1", held, header(""))
	leads("with a name that looks like another site", "/enter/%2F%2Fevil.test", "/queue/%2F%2Fevil.test")
	leads("asked for another site", "/enter/show-1?next=https://evil.test", "/vwr/show-1")

	position := func(change ...func(*http.Request)) (int64, error) {
		r := httptest.NewRequest("POST", "/api/queue/check/show-1", nil)
		for _, c := range change {
			c(r)
		}
		return s.h.Position(r, "show-1")
	}
	if n, err := position(held); n != 1 || err != nil {
		t.Errorf("position %d, %v", n, err)
	}
	if n, err := position(); n != 0 || err != nil {
		t.Errorf("without a token: position %d, %v", n, err)
	}
	if n, err := position(header("x")); n != 0 || err != nil {
		t.Errorf("with another token: position %d, %v", n, err)
	}
}

// Without a store every answer is 503 with Retry-After, and no request passes.
func TestHTTPAway(t *testing.T) {
	s := newSite(t, frontgate.HTTPConfig{RetryAfter: 1500 * time.Millisecond})
	id := func() string {
		s.ask("POST", "/api/admin/vwr/activate/show-1", "").is(t, 200, nil)
		defer s.ask("POST", "/api/admin/vwr/advance/show-1", "")
		return s.ask("POST", "/vwr/assign/show-1", "").body["requestId"].(string)
	}()
	token := s.ask("GET", "/vwr/check/show-1/"+id, "").body["token"].(string)
	fresh := newGate(t, s.store, frontgate.Config{Refresh: time.Nanosecond}) // a process that knows nothing
	h, err := frontgate.NewHandlers(fresh, frontgate.HTTPConfig{RetryAfter: 1500 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s.store.set(true)
	for name, handler := range map[string]http.Handler{
		"assign": http.HandlerFunc(h.Assign), "check": http.HandlerFunc(h.Check), "guard": http.HandlerFunc(h.Guard),
		"protect": h.Protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("somebody passes") })),
		"status":  http.HandlerFunc(h.Status), "activate": http.HandlerFunc(h.Activate),
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.SetPathValue("eventId", "show-1")
		r.SetPathValue("requestId", id)
		r.Header.Set(frontgate.TokenHeader, token)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "2" || !strings.Contains(w.Body.String(), "/problems/unavailable") || strings.Contains(w.Body.String(), "away") {
			t.Errorf("%s: %d %v %s", name, w.Code, w.Header(), w.Body)
		}
	}
}
