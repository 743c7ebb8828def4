package idempotency_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/memidempotency"
)

func byUser(r *http.Request) string { return r.Header.Get("X-User") }

func newHTTP(t testing.TB, store driver.LeaseStore, cfg idempotency.HTTPConfig) *idempotency.HTTP {
	t.Helper()
	if cfg.Scope == nil {
		cfg.Scope = byUser
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	h, err := idempotency.NewHTTP(store, cfg)
	require.NoError(t, err)
	return h
}

type request struct{ method, path, user, key, body string }

func (r request) send(h http.Handler) *httptest.ResponseRecorder {
	req := httptest.NewRequest(r.method, r.path, strings.NewReader(r.body))
	req.Header.Set("X-User", r.user)
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// refused checks for a problem of that type.
func refused(t *testing.T, what string, w *httptest.ResponseRecorder, status int, typ string) {
	t.Helper()
	var p struct {
		Type, Title, Detail string
		Status              int
	}
	err := json.Unmarshal(w.Body.Bytes(), &p)
	if err != nil || w.Code != status || p.Status != status || p.Type != "/problems/"+typ || p.Title == "" || p.Detail == "" ||
		w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s: %d %v %s, %v; want %d with the problem %s", what, w.Code, w.Header(), w.Body, err, status, typ)
	}
}

// pay counts its calls and answers with its request's body.
type pay struct {
	calls  atomic.Int32
	status int
}

func (p *pay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := p.calls.Add(1)
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", "/payments/7")
	w.Header().Set("Set-Cookie", "secret=1")
	w.Header().Set("X-Other", "x")
	if p.status != 0 {
		w.WriteHeader(p.status)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"call": n, "body": string(body)})
}

func TestHTTPReplays(t *testing.T) {
	p := &pay{status: http.StatusCreated}
	h := newHTTP(t, memidempotency.NewLeases(), idempotency.HTTPConfig{}).Middleware(p)
	r := request{"POST", "/payments?x=1", "ann", "k-1", `{"amount":5}`}
	first := r.send(h)
	quoted := r
	quoted.key = `"k-1"`
	for _, w := range []*httptest.ResponseRecorder{r.send(h), quoted.send(h)} {
		if w.Code != http.StatusCreated || w.Body.String() != first.Body.String() ||
			w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Location") != "/payments/7" {
			t.Errorf("replayed: %d %v %s; first: %d %s", w.Code, w.Header(), w.Body, first.Code, first.Body)
		}
		if w.Header().Get("Idempotency-Replayed") != "true" || w.Header().Get("Set-Cookie") != "" || w.Header().Get("X-Other") != "" {
			t.Errorf("replayed headers: %v", w.Header())
		}
	}
	if first.Header().Get("Idempotency-Replayed") != "" || first.Header().Get("Set-Cookie") == "" || first.Header().Get("X-Other") != "x" ||
		!strings.Contains(first.Body.String(), `{\"amount\":5}`) {
		t.Errorf("the first response: %v %s", first.Header(), first.Body)
	}
	if n := p.calls.Load(); n != 1 {
		t.Errorf("the handler ran %d times", n)
	}
	// The keys of other members are different keys; no key can be made equal to another
	// member's.
	for i, other := range []request{
		{"POST", "/payments?x=1", "bob", "k-1", `{"amount":5}`},
		{"POST", "/payments?x=1", "ann:k", "1", `{"amount":5}`},
		{"POST", "/payments?x=1", "ann", "k-1:", `{"amount":5}`},
	} {
		if w := other.send(h); w.Header().Get("Idempotency-Replayed") != "" || int(p.calls.Load()) != i+2 {
			t.Errorf("%+v was answered with another's response", other)
		}
	}
}

// TestHTTPLateHeaders: as with net/http, headers that are set after the body began do not count.
func TestHTTPLateHeaders(t *testing.T) {
	h := newHTTP(t, memidempotency.NewLeases(), idempotency.HTTPConfig{}).Middleware(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"id":7}`)
			http.Error(w, "too late", http.StatusInternalServerError)
		}))
	r := request{"POST", "/payments", "ann", "k-1", ""}
	for range 2 {
		w := r.send(h)
		assert.Equal(t, http.StatusOK, w.Code)
		assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
	}
}

// TestHTTPReplaysEncodedBodies: a body is replayed with its encoding, without which a client cannot
// read it, and with the type that the first response had.
func TestHTTPReplaysEncodedBodies(t *testing.T) {
	h := newHTTP(t, memidempotency.NewLeases(), idempotency.HTTPConfig{Headers: []string{"Content-Type"}}).Middleware(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, "paid")
			_ = z.Close()
		}))
	r := request{"POST", "/payments", "ann", "k", "a"}
	first, again := r.send(h), r.send(h)
	for _, w := range []*httptest.ResponseRecorder{first, again} {
		if w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Content-Type") != first.Header().Get("Content-Type") ||
			w.Body.String() != first.Body.String() {
			t.Errorf("%v, replayed %v", w.Header(), w == again)
		}
	}
}

func TestHTTPRefusesAnotherRequest(t *testing.T) {
	p := &pay{}
	h := newHTTP(t, memidempotency.NewLeases(), idempotency.HTTPConfig{}).Middleware(p)
	r := request{"POST", "/payments", "ann", "k", "a"}
	r.send(h)
	for what, other := range map[string]request{
		"another body":   {"POST", "/payments", "ann", "k", "b"},
		"another path":   {"POST", "/refunds", "ann", "k", "a"},
		"another query":  {"POST", "/payments?now=1", "ann", "k", "a"},
		"another method": {"PATCH", "/payments", "ann", "k", "a"},
	} {
		refused(t, what, other.send(h), http.StatusUnprocessableEntity, "idempotency-key-reused")
	}
	if n := p.calls.Load(); n != 1 {
		t.Errorf("the handler ran %d times", n)
	}
}

// TestHTTPRefusesAnotherForm: the body counts also where a middleware outside, such as a check
// of a CSRF token, has parsed it as a form.
func TestHTTPRefusesAnotherForm(t *testing.T) {
	p := &pay{}
	h := newHTTP(t, memidempotency.NewLeases(), idempotency.HTTPConfig{}).Middleware(p)
	send := func(contentType, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Idempotency-Key", strconv.Quote(contentType))
		_ = r.PostFormValue("csrf")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	const form = "application/x-www-form-urlencoded"
	require.Equal(t, http.StatusOK, send(form, "amount=1&csrf=x").Code)
	require.Equal(t, "true", send(form, "amount=1&csrf=x").Header().Get("Idempotency-Replayed"))
	refused(t, "another form", send(form, "amount=2&csrf=x"), http.StatusUnprocessableEntity, "idempotency-key-reused")

	const parts = "multipart/form-data; boundary=b"
	file := func(name, content string) string {
		return "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"" + name + "\"\r\n\r\n" + content + "\r\n--b--\r\n"
	}
	require.Equal(t, http.StatusOK, send(parts, file("a", "1")).Code)
	require.Equal(t, "true", send(parts, file("a", "1")).Header().Get("Idempotency-Replayed"))
	refused(t, "another file", send(parts, file("a", "2")), http.StatusUnprocessableEntity, "idempotency-key-reused")
	refused(t, "another name", send(parts, file("b", "1")), http.StatusUnprocessableEntity, "idempotency-key-reused")
	assert.EqualValues(t, 2, p.calls.Load(), "calls")
}

func TestHTTPKeys(t *testing.T) {
	for value, want := range map[string]string{
		"abc": "abc", `"abc"`: "abc", " abc ": "abc", `"a b;c,d"`: "a b;c,d", `"a\"b\\c"`: `a"b\c`, "a=b/c+d~e.f:g": "a=b/c+d~e.f:g",
	} {
		if got, err := idempotency.ParseKey(value); got != want || err != nil {
			t.Errorf("ParseKey(%q) = %q, %v; want %q", value, got, err, want)
		}
	}
	for _, value := range []string{"", "  ", `""`, `"abc`, `"`, `"a"b`, `"a";p=1`, `"a\b"`, `"a\`, "a b", "a,b", "a;b", `a"b`, "é", "\"é\"", "a\x01", "\"\x7f\""} {
		if got, err := idempotency.ParseKey(value); err == nil {
			t.Errorf("ParseKey(%q) = %q without an error", value, got)
		}
	}
	p := &pay{}
	m := newHTTP(t, memidempotency.NewLeases(), idempotency.HTTPConfig{Required: true, MaxKey: 5})
	h := m.Middleware(p)
	refused(t, "no key", request{method: "POST", path: "/"}.send(h), http.StatusBadRequest, "idempotency-key-missing")
	refused(t, "a long key", request{method: "POST", path: "/", key: "123456"}.send(h), http.StatusBadRequest, "idempotency-key-invalid")
	refused(t, "a bad key", request{method: "POST", path: "/", key: "a b"}.send(h), http.StatusBadRequest, "idempotency-key-invalid")
	twice := httptest.NewRequest("POST", "/", nil)
	twice.Header["Idempotency-Key"] = []string{"a", "b"}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, twice)
	refused(t, "two keys", w, http.StatusBadRequest, "idempotency-key-invalid")
	assert.EqualValues(t, 0, p.calls.Load(), "a refused request reached the handler")
	assert.Equal(t, 200, (request{method: "GET", path: "/"}).send(h).Code, "GET needs no key")
	free := newHTTP(t, memidempotency.NewLeases(), idempotency.HTTPConfig{}).Middleware(p)
	for range 2 {
		assert.Equal(t, 200, (request{method: "POST", path: "/"}).send(free).Code, "without a key where none is required")
	}
	assert.EqualValues(t, 3, p.calls.Load(), "calls")
}

// TestHTTPKeepsFinalResponses: a response that is not final releases the key; any other is
// kept.
func TestHTTPKeepsFinalResponses(t *testing.T) {
	for _, tc := range []struct {
		status int
		kept   bool
	}{{200, true}, {204, true}, {303, true}, {400, true}, {404, true}, {409, true}, {422, true},
		{408, false}, {425, false}, {429, false}, {500, false}, {502, false}, {503, false}} {
		calls := 0
		h := newHTTP(t, memidempotency.NewLeases(), idempotency.HTTPConfig{}).Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			calls++
			w.WriteHeader(tc.status)
		}))
		r := request{"POST", "/", "ann", "k", ""}
		for range 2 {
			if w := r.send(h); w.Code != tc.status {
				t.Errorf("%d came out as %d", tc.status, w.Code)
			}
		}
		assert.Equalf(t, tc.kept, (calls == 1), "%d: %d calls for two requests, kept should be %v", tc.status, calls, tc.kept)
	}
	calls := 0
	h := newHTTP(t, memidempotency.NewLeases(), idempotency.HTTPConfig{}).Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls == 1 {
			panic(http.ErrAbortHandler)
		}
	}))
	func() {
		defer func() {
			if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
				t.Errorf("the panic came out as %v", err)
			}
		}()
		request{"POST", "/", "ann", "k", ""}.send(h)
	}()
	if w := (request{"POST", "/", "ann", "k", ""}).send(h); w.Code != 200 || calls != 2 {
		t.Errorf("after a panic: %d, %d calls", w.Code, calls)
	}
}

// TestHTTPBrokenOff: a handler that ends without a response, because its context has ended, has
// not answered 200. The repeated request is handled.
func TestHTTPBrokenOff(t *testing.T) {
	store := memidempotency.NewLeases()
	calls := 0
	left, leave := context.WithCancel(t.Context())
	m := newHTTP(t, store, idempotency.HTTPConfig{Keep: func(int) bool { return true }})
	h := m.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls == 1 {
			leave()
		}
		if r.Context().Err() != nil {
			return
		}
		w.WriteHeader(http.StatusCreated)
	}))
	req := httptest.NewRequestWithContext(left, "POST", "/", nil)
	req.Header.Set("X-User", "ann")
	req.Header.Set("Idempotency-Key", "k")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	assert.Equal(t, http.StatusServiceUnavailable, w.Code, "the response of the handler that broke off")
	for _, replayed := range []string{"", "true"} {
		w := request{"POST", "/", "ann", "k", ""}.send(h)
		assert.Equal(t, http.StatusCreated, w.Code)
		assert.Equal(t, replayed, w.Header().Get("Idempotency-Replayed"))
	}
	assert.Equal(t, 2, calls, "calls")
}

// TestHTTPRunningAndCrashed: while the first request runs, others get a Retry-After; after a
// crash the lease runs out and one of them is handled.
func TestHTTPRunningAndCrashed(t *testing.T) {
	store := memidempotency.NewLeases()
	started, finish := make(chan struct{}), make(chan struct{})
	var token atomic.Int64
	h := newHTTP(t, store, idempotency.HTTPConfig{RetryAfter: 1500 * time.Millisecond}).Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := idempotency.ClaimFrom(r.Context())
		token.Store(c.Token)
		close(started)
		<-finish
	}))
	r := request{"POST", "/", "ann", "k", "x"}
	var wg sync.WaitGroup
	wg.Go(func() { r.send(h) })
	<-started
	w := r.send(h)
	refused(t, "while it runs", w, http.StatusConflict, "idempotency-key-in-use")
	if got := w.Header().Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After: %q, want whole seconds rounded up", got)
	}
	other := r
	other.body = "y"
	refused(t, "another request while it runs", other.send(h), http.StatusUnprocessableEntity, "idempotency-key-reused")
	close(finish)
	wg.Wait()
	if token.Load() == 0 {
		t.Error("the handler's context carries no claim")
	}

	// A process claims the key and crashes.
	key := "http:ann:crashed"
	var prints []string
	spy := spying{store, func(r driver.Record) { prints = append(prints, r.Fingerprint) }}
	p := &pay{}
	h = newHTTP(t, spy, idempotency.HTTPConfig{}).Middleware(p)
	r.key = "crashed"
	request{"POST", "/", "ann", "same-request", "x"}.send(h)
	gone := driver.Record{Key: key, Fingerprint: prints[0]}
	_, err := store.Claim(t.Context(), gone, time.Minute)
	require.NoError(t, err)
	refused(t, "before the lease runs out", r.send(h), http.StatusConflict, "idempotency-key-in-use")
	require.NoError(t, store.Backdate(t.Context(), key, 2*time.Minute))
	if w := r.send(h); w.Code != 200 || p.calls.Load() != 2 {
		t.Errorf("after the lease ran out: %d %s, %d calls", w.Code, w.Body, p.calls.Load())
	}
}

type spying struct {
	driver.LeaseStore
	saw func(driver.Record)
}

func (s spying) Claim(ctx context.Context, r driver.Record, ttl time.Duration) (idempotency.Claim, error) {
	s.saw(r)
	return s.LeaseStore.Claim(ctx, r, ttl)
}

func TestNewHTTPChecks(t *testing.T) {
	store := memidempotency.NewLeases()
	for want, cfg := range map[string]idempotency.HTTPConfig{
		"HTTPConfig.Scope": {}, "colon": {Scope: byUser, Group: "a:b"}, "MaxKey": {Scope: byUser, MaxKey: -1},
		"MaxRequest": {Scope: byUser, MaxRequest: -1}, "HTTPConfig.TTL": {Scope: byUser, TTL: 1}, "HTTPConfig.Finish": {Scope: byUser, Finish: -1},
		"RetryAfter": {Scope: byUser, RetryAfter: -1}, "Set-Cookie": {Scope: byUser, Headers: []string{"set-cookie"}},
	} {
		if _, err := idempotency.NewHTTP(store, cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("NewHTTP(%+v) = %v, want an error about %s", cfg, err, want)
		}
	}
	if _, err := idempotency.NewHTTP(nil, idempotency.HTTPConfig{Scope: byUser}); err == nil {
		t.Error("NewHTTP took no store")
	}
}
