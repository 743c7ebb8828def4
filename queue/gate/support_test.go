package gate_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/gate"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/token"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var secret = strings.Repeat("s", 32)

func keys(t testing.TB) *token.Ring {
	t.Helper()
	ring, err := token.NewRing(secret)
	require.NoError(t, err)
	return ring
}

// flaky is a store that can be unreachable, and counts its visits.
type flaky struct {
	driver.Store
	away   atomic.Bool
	visits atomic.Int64
}

func (f *flaky) Visit(ctx context.Context, event string, r driver.Rules, b driver.Beats, v []driver.Visit) (driver.Visited, error) {
	f.visits.Add(int64(len(v)))
	if f.away.Load() {
		return driver.Visited{}, fault.MarkInfrastructure(errors.New("connection refused at 10.0.0.7:6379"))
	}
	return f.Store.Visit(ctx, event, r, b, v)
}

// origin answers in memory, and says what it was sent.
type origin func(*http.Request) (*http.Response, error)

func (o origin) RoundTrip(r *http.Request) (*http.Response, error) { return o(r) }

func echo(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"text/plain"}}, Request: r,
		Body: io.NopCloser(strings.NewReader("the origin at " + r.URL.RequestURI())),
	}, nil
}

// site is a gate before an origin.
type site struct {
	t       testing.TB
	store   *flaky
	room    *queue.Room
	gate    *gate.Gate
	handler http.Handler
	last    atomic.Pointer[http.Request] // that reached the origin in memory
}

func newSite(t testing.TB, rules queue.Config, change func(*gate.Config)) *site {
	t.Helper()
	mem, err := memqueue.New(memqueue.Config{})
	require.NoError(t, err)
	s := &site{t: t, store: &flaky{Store: mem}}
	rules.Logger = slog.New(slog.DiscardHandler)
	s.room, err = queue.New(s.store, keys(t), rules)
	require.NoError(t, err)
	cfg := gate.Config{
		Event: "sale", Keys: keys(t), Origin: &url.URL{Scheme: "http", Host: "origin.example"}, Logger: slog.New(slog.DiscardHandler),
		Transport: origin(func(r *http.Request) (*http.Response, error) {
			s.last.Store(r)
			return echo(r)
		}),
	}
	if change != nil {
		change(&cfg)
	}
	s.gate, err = gate.New(s.room, cfg)
	require.NoError(t, err)
	t.Cleanup(s.gate.Close)
	if cfg.Origin != nil {
		s.handler, err = s.gate.Handler()
		require.NoError(t, err)
	}
	return s
}

// browser keeps cookies.
type browser struct {
	s   *site
	jar http.CookieJar
}

func (s *site) browser() *browser {
	jar, err := cookiejar.New(nil)
	require.NoError(s.t, err)
	return &browser{s, jar}
}

var navigation = http.Header{"Accept": {"text/html,*/*;q=0.8"}, "Sec-Fetch-Dest": {"document"}}

// reply is an answer, read to its end.
type reply struct {
	StatusCode int
	Header     http.Header
	cookies    []*http.Cookie
	text       string
}

func (r reply) Cookies() []*http.Cookie { return r.cookies }

// do makes one request, and follows no redirect.
func (b *browser) do(method, target string, h http.Header) reply {
	b.s.t.Helper()
	r := httptest.NewRequest(method, "http://shop.example"+target, nil)
	r.RequestURI = target
	return b.send(b.s.handler, r, h)
}

func (b *browser) send(handler http.Handler, r *http.Request, h http.Header) reply {
	at := &url.URL{Scheme: "http", Host: "shop.example", Path: "/"}
	for name, values := range h {
		r.Header[name] = values
	}
	for _, c := range b.jar.Cookies(at) {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	got := reply{w.Code, w.Header(), (&http.Response{Header: w.Header()}).Cookies(), w.Body.String()}
	b.jar.SetCookies(at, got.cookies)
	return got
}

func (b *browser) open(target string) reply { return b.do("GET", target, navigation) }

func (b *browser) poll() string {
	b.s.t.Helper()
	answer := b.do("POST", "/millrace-gate/check/sale", http.Header{"Accept": {"application/json"}})
	require.Equal(b.s.t, 200, answer.StatusCode)
	require.Empty(b.s.t, answer.Header.Values("Set-Cookie"), "a poll sets cookies")
	return answer.text
}

// enter takes a browser inside a room that has a free place.
func (b *browser) enter() *browser {
	b.s.t.Helper()
	b.open("/")
	require.Equal(b.s.t, http.StatusSeeOther, b.open("/").StatusCode)
	return b
}

const minute = time.Minute
