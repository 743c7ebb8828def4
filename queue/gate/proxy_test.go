package gate_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/gate"
)

// Without an origin the visitors get a clear answer, and keep their places.
func TestOriginAway(t *testing.T) {
	s := newSite(t, queue.Config{Threshold: 1}, func(c *gate.Config) {
		c.Transport = origin(func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: io.ErrUnexpectedEOF}
		})
	})
	b := s.browser().enter()
	answer := b.open("/")
	require.Equal(t, 502, answer.StatusCode)
	require.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"))
	require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
	require.Contains(t, answer.text, "origin-unreachable")
	require.Contains(t, b.poll(), `"status":"active"`)
	require.EqualValues(t, 1, s.gate.Stats().Failed)
}

// The requests in a connection that has changed to HTTP/2 or TLS pass no gate, so the site is
// not asked to change to these.
func TestNoUpgradeToHTTP(t *testing.T) {
	s := newSite(t, queue.Config{Threshold: 1}, nil)
	inside, outside := s.browser().enter(), s.browser()
	for upgrade, want := range map[string]string{"h2c": "", "H2C": "", "TLS/1.0, HTTP/1.1": "", "websocket": "websocket"} {
		for method, b := range map[string]*browser{"GET": inside, "OPTIONS": outside} {
			answer := b.do(method, "/", http.Header{"Connection": {"Upgrade, HTTP2-Settings"}, "Upgrade": {upgrade}, "Http2-Settings": {"AAMAAABkAARAAAAAAAIAAAAA"}})
			require.Equal(t, 200, answer.StatusCode)
			got := s.last.Load().Header
			require.Equalf(t, [2]string{want, ""}, [2]string{got.Get("Upgrade"), got.Get("Http2-Settings")}, "%s with %s", method, upgrade)
			require.Equalf(t, want != "", got.Get("Connection") != "", "%s with %s", method, upgrade)
		}
	}
}

// While the store is unreachable no visitor enters; visitors inside go on.
func TestStoreAway(t *testing.T) {
	s := newSite(t, queue.Config{Threshold: 2}, nil)
	inside, waiting, fresh := s.browser().enter(), s.browser(), s.browser()
	waiting.open("/")
	s.store.away.Store(true)
	require.Equal(t, 200, inside.open("/").StatusCode)
	for _, b := range []*browser{waiting, fresh, fresh} {
		answer := b.open("/")
		require.Equal(t, 503, answer.StatusCode)
		require.NotEmpty(t, answer.Header.Get("Retry-After"))
	}
	poll := waiting.do("POST", "/millrace-gate/check/sale", nil)
	require.Equal(t, 503, poll.StatusCode)
	require.Equal(t, "3", poll.Header.Get("Retry-After"))
}

// headers are read by the origin, and come from the gate alone.
func TestOriginIsTold(t *testing.T) {
	s := newSite(t, queue.Config{Threshold: 1}, func(c *gate.Config) { c.Pass = []string{"/static/**"} })
	verify, err := gate.NewVerifier(keys(t))
	require.NoError(t, err)
	b := s.browser().enter()
	forged := http.Header{
		"X-Millrace-User": {"admin"}, "X_millrace_user": {"admin"}, "x-millrace_Event": {"other"}, "X-Millrace-Signature": {"1"}, "X-Millrace-Time": {"1"},
		"X-Forwarded-For": {"6.6.6.6"}, "X-Forwarded-Host": {"evil.example"}, "Connection": {"X-Millrace-User"},
	}
	b.do("POST", "/pay?seat=7", forged)
	r := s.last.Load()
	for name := range r.Header {
		require.NotContains(t, name, "_")
	}
	require.Equal(t, "shop.example", r.Host)
	require.Equal(t, "shop.example", r.Header.Get("X-Forwarded-Host"))
	require.Equal(t, "192.0.2.1", r.Header.Get("X-Forwarded-For"))
	event, user, err := verify(r)
	require.NoError(t, err)
	require.Equal(t, "sale", event)
	require.Len(t, user, 22)

	for what, change := range map[string]func(*http.Request){
		"another method": func(r *http.Request) { r.Method = "GET" }, "another host": func(r *http.Request) { r.Host = "x" },
		"another query": func(r *http.Request) { r.RequestURI = "/pay?seat=8" }, "another user": func(r *http.Request) { r.Header.Set("X-Millrace-User", "admin") },
		"two users": func(r *http.Request) { r.Header.Add("X-Millrace-User", "admin") }, "no signature": func(r *http.Request) { r.Header.Del("X-Millrace-Signature") },
		"another time": func(r *http.Request) { r.Header.Set("X-Millrace-Time", "1") },
	} {
		other := r.Clone(context.Background())
		change(other)
		_, _, err := verify(other)
		require.Error(t, err, what)
	}
	s.browser().do("GET", "/static/a.js", forged)
	r = s.last.Load()
	require.Empty(t, r.Header.Values("X-Millrace-User"))
	event, user, err = verify(r)
	require.NoError(t, err)
	require.Equal(t, []string{"sale", ""}, []string{event, user})

	trusting := newSite(t, queue.Config{Threshold: 1}, func(c *gate.Config) { c.Proxied = true })
	trusting.browser().enter().do("GET", "/", http.Header{"X-Forwarded-For": {"7.7.7.7"}, "X-Forwarded-Host": {"www.example"}, "X-Forwarded-Proto": {"https"}})
	r = trusting.last.Load()
	require.Equal(t, []string{"7.7.7.7, 192.0.2.1", "www.example", "https"}, []string{r.Header.Get("X-Forwarded-For"), r.Header.Get("X-Forwarded-Host"), r.Header.Get("X-Forwarded-Proto")})
}

// What is signed is the path that the origin gets.
func TestOriginWithAPathIsTold(t *testing.T) {
	verify, err := gate.NewVerifier(keys(t))
	require.NoError(t, err)
	told := make(chan error, 1)
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _, err := verify(r)
		told <- err
	}))
	t.Cleanup(site.Close)
	for _, path := range []string{"", "/below"} {
		at, err := url.Parse(site.URL + path)
		require.NoError(t, err)
		inside := newSite(t, queue.Config{Threshold: 1}, func(c *gate.Config) { c.Origin, c.Transport = at, nil }).browser().enter()
		for _, target := range []string{"/seats?row=7", "/a%20b?", "/a|b", "//c", "/%7e"} {
			require.Equal(t, 200, inside.do("GET", target, nil).StatusCode)
			require.NoError(t, <-told, "%s%s", path, target)
		}
	}
}
