package gate_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/gate"
)

// asked is a proxy's question about a request.
func (b *browser) asked(judge http.Handler, route, method, target string, h http.Header) reply {
	r := httptest.NewRequest("GET", "http://gate.internal"+route, nil)
	for name, value := range map[string]string{"Method": method, "Host": "shop.example", "Proto": "http", "Uri": target} {
		if value != "" {
			r.Header.Set("X-Forwarded-"+name, value)
		}
	}
	return b.send(judge, r, h)
}

var requests = []struct {
	method, target string
	h              http.Header
	forward        int
}{
	{"GET", "/", navigation, 503}, {"GET", "/seats?row=7", navigation, 503}, {"GET", "/api", nil, 429}, {"POST", "/pay", nil, 429}, {"HEAD", "/", navigation, 503},
	{"OPTIONS", "/api", nil, 200}, {"GET", "/static/a.css", nil, 200}, {"GET", "/a%2Fb", nil, 400}, {"GET", "/%zz", navigation, 400},
	{"OPTIONS", "/api", http.Header{"Upgrade": {"websocket", "h2c"}}, 400}, {"GET", "/static/socket", http.Header{"Upgrade": {"websocket"}}, 200},
}

// To nginx the judge says 200 and 401 and nothing else, whatever happens; the
// answer is at another route.
func TestJudgeForNginx(t *testing.T) {
	s := newSite(t, queue.Config{Threshold: 1}, func(c *gate.Config) { c.Pass = []string{"/static/**"} })
	judge, err := s.gate.Judge(gate.Nginx)
	require.NoError(t, err)
	for _, r := range requests {
		b := s.browser()
		want := 401
		if r.forward == 200 {
			want = 200
		}
		got := b.asked(judge, "/judge", r.method, r.target, r.h)
		require.Equal(t, want, got.StatusCode, r.target)
		require.Equal(t, "no-store", got.Header.Get("Cache-Control"))
		require.Empty(t, got.Cookies())
		if want == 401 {
			require.Equal(t, r.forward, b.asked(judge, "/answer", r.method, r.target, r.h).StatusCode, r.target)
		}
	}
	require.Equal(t, 401, s.browser().asked(judge, "/judge", "", "/", navigation).StatusCode)
	require.Equal(t, 401, s.browser().asked(judge, "/judge", "GET", "", navigation).StatusCode)

	b := s.browser()
	b.asked(judge, "/answer", "GET", "/seats", navigation)
	require.Equal(t, 401, b.asked(judge, "/judge", "GET", "/seats", navigation).StatusCode)
	entry := b.asked(judge, "/answer", "GET", "/seats", navigation)
	require.Equal(t, 303, entry.StatusCode)
	require.Equal(t, "/seats", entry.Header.Get("Location"))
	inside := b.asked(judge, "/judge", "POST", "/pay", nil)
	require.Equal(t, 200, inside.StatusCode)
	require.Len(t, inside.Header.Get("X-Millrace-User"), 22)
	// A place that became free between the two questions.
	require.Equal(t, 303, b.asked(judge, "/answer", "GET", "/seats", navigation).StatusCode)
	require.Equal(t, 429, b.asked(judge, "/answer", "POST", "/seats", nil).StatusCode)

	s.store.away.Store(true)
	other := s.browser()
	other.asked(judge, "/answer", "GET", "/", navigation)
	require.Equal(t, 401, other.asked(judge, "/judge", "GET", "/", navigation).StatusCode)
	require.Equal(t, 503, other.asked(judge, "/answer", "GET", "/", navigation).StatusCode)
}

// Other proxies get 200 with the headers for the origin, or what to answer.
func TestJudgeForOthers(t *testing.T) {
	s := newSite(t, queue.Config{Threshold: 1}, func(c *gate.Config) { c.Pass = []string{"/static/**"} })
	judge, err := s.gate.Judge(gate.Forward)
	require.NoError(t, err)
	for _, r := range requests {
		got := s.browser().asked(judge, "/judge", r.method, r.target, r.h)
		require.Equal(t, r.forward, got.StatusCode, r.target)
		require.Equal(t, "no-store", got.Header.Get("Cache-Control"))
	}
	b := s.browser()
	require.Contains(t, b.asked(judge, "/judge", "GET", "/", navigation).text, `"event":"sale"`)
	require.Equal(t, 200, b.send(judge, httptest.NewRequest("POST", "/millrace-gate/check/sale", nil), nil).StatusCode)
	require.Equal(t, 303, b.asked(judge, "/judge", "GET", "/", navigation).StatusCode)
	inside := b.asked(judge, "/judge", "GET", "/seats?row=7", navigation)
	require.Equal(t, 200, inside.StatusCode)

	verify, err := gate.NewVerifier(keys(t))
	require.NoError(t, err)
	r := httptest.NewRequest("GET", "http://shop.example/seats?row=7", nil)
	r.RequestURI = "/seats?row=7"
	r.Header = inside.Header
	_, _, err = verify(r)
	require.NoError(t, err)

	require.Equal(t, 500, s.browser().asked(judge, "/judge", "GET", "", navigation).StatusCode)
	for _, route := range []string{"/", "/answer", "/metrics"} {
		require.Equal(t, 404, b.asked(judge, route, "GET", "/", navigation).StatusCode, route)
	}
}

// Envoy asks for the visitor's own request below /judge, and gets no answer of 500 and above.
func TestJudgeForEnvoy(t *testing.T) {
	s := newSite(t, queue.Config{Threshold: 1}, func(c *gate.Config) { c.Pass = []string{"/static/**"} })
	judge, err := s.gate.Judge(gate.Envoy)
	require.NoError(t, err)
	asks := func(b *browser, method, target string, h http.Header) reply {
		r := httptest.NewRequest(method, "http://shop.example/judge/", nil)
		r.RequestURI = "/judge" + target
		return b.send(judge, r, h)
	}
	for _, r := range requests {
		want := r.forward
		if want == 503 {
			want = 429
		}
		got := asks(s.browser(), r.method, r.target, r.h)
		require.Equal(t, want, got.StatusCode, r.target)
		require.Equal(t, "no-store", got.Header.Get("Cache-Control"))
	}
	b := s.browser()
	page := asks(b, "GET", "/seats?row=7", navigation)
	require.Contains(t, page.text, `"event":"sale"`)
	require.Equal(t, "5", page.Header.Get("Retry-After"))
	entry := asks(b, "GET", "/seats?row=7", navigation)
	require.Equal(t, 303, entry.StatusCode)
	require.Equal(t, "/seats?row=7", entry.Header.Get("Location"))
	inside := asks(b, "POST", "/pay?seat=7", nil)
	require.Equal(t, 200, inside.StatusCode)
	verify, err := gate.NewVerifier(keys(t))
	require.NoError(t, err)
	r := httptest.NewRequest("POST", "http://shop.example/pay?seat=7", nil)
	r.Header = inside.Header
	_, _, err = verify(r)
	require.NoError(t, err)
	// The other proxies' headers say nothing here.
	require.Equal(t, 429, asks(s.browser(), "GET", "/pay", http.Header{"X-Forwarded-Uri": {"/static/a"}, "X-Forwarded-Method": {"OPTIONS"}}).StatusCode)
	require.Equal(t, 404, s.browser().asked(judge, "/judge", "GET", "/static/a", nil).StatusCode)
	s.store.away.Store(true)
	other := s.browser()
	asks(other, "GET", "/", navigation)
	require.Equal(t, 429, asks(other, "GET", "/", navigation).StatusCode)
}

// A proxy that asks by GET about a HEAD gets the content that the answer's length promises:
// Traefik takes one without it for a failure.
func TestJudgeOfAHead(t *testing.T) {
	s := newSite(t, queue.Config{Threshold: 1}, nil)
	judge, err := s.gate.Judge(gate.Forward)
	require.NoError(t, err)
	for _, method := range []string{"GET", "HEAD"} {
		got := s.browser().asked(judge, "/judge", method, "/", navigation)
		require.Equal(t, 503, got.StatusCode)
		require.Equal(t, fmt.Sprint(len(got.text)), got.Header.Get("Content-Length"), method)
		require.NotEmpty(t, got.text, method)
	}
	require.Empty(t, s.browser().do("HEAD", "/", navigation).text)
}
