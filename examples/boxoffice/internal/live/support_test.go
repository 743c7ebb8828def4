package live

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/sse"
)

func TestMain(m *testing.M) {
	redis.SetLogger(redistest.Silence{})
	goleak.VerifyTestMain(m)
}

const (
	secret = "0123456789abcdef0123456789abcdef"
	// patience is for events that must come; nothing is asserted about their time.
	patience = time.Minute
)

var quiet = slog.New(slog.DiscardHandler)

// steady is for tests without a fault: a loaded machine is no outage.
var steady = sse.Config{Lease: 2 * time.Minute, Timeout: 30 * time.Second, Retry: time.Millisecond, Spread: time.Millisecond}

// both runs a test in both modes.
func both(t *testing.T, run func(t *testing.T, streams sse.Config)) {
	t.Helper()
	for name, lean := range map[string]bool{"portable": false, "lean": true} {
		t.Run(name, func(t *testing.T) {
			streams := steady
			streams.Lean = lean
			run(t, streams)
		})
	}
}

func inMemory(t testing.TB) Shared {
	t.Helper()
	s, err := Memory()
	must(t, err)
	return s
}

func inRedis(t testing.TB, server *redistest.Server, prefix string) Shared {
	t.Helper()
	s, err := Redis(redistest.Open(t, server.URL()), prefix)
	must(t, err)
	return s
}

func newLive(t testing.TB, shared Shared, cfg Config) *Live {
	t.Helper()
	cfg.Logger = quiet
	l, err := New(secret, shared, cfg)
	must(t, err)
	return l
}

// office is a process that serves streams to holders of tickets.
type office struct {
	*Live
	t   testing.TB
	url string
	end func() // ends the streams, and the process does not
}

func (o *office) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tab, err := o.Tab(w, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	_ = o.Serve(w, r, tab) // it has answered
}

func open(t testing.TB, shared Shared, cfg Config) *office {
	t.Helper()
	o := &office{Live: newLive(t, shared, cfg), t: t}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx) }()
	ended := false
	o.end = func() {
		if stop(); !ended {
			ended = true
			assert.NoError(t, <-done, "the streams ended with")
		}
	}
	server := httptest.NewServer(o)
	o.url = server.URL
	t.Cleanup(server.Close)
	t.Cleanup(o.end)
	o.ready()
	return o
}

func (o *office) ready() {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), patience)
	defer cancel()
	must(o.t, o.Hub().Ready(ctx))
}

// send sends a notification to a member.
func (o *office) send(member, id string) {
	o.t.Helper()
	must(o.t, o.Hub().ToMember(o.t.Context(), member, notice(id)))
}

func notice(id string) sse.Event { return sse.Event{Name: "notification", ID: id, Data: []byte(id)} }

// browser is one with a cookie jar.
func browser(t testing.TB) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Jar: jar, Transport: transport}
}

// tab is an EventSource: it reconnects to its address.
type tab struct {
	t       testing.TB
	browser *http.Client
	office  *office
	ticket  string
	last    string // Last-Event-ID
}

// told is an event as a page sees it.
type told struct{ name, data, retry string }

// stream is one answer to a tab.
type stream struct {
	tab    *tab
	status int
	header http.Header
	lines  *bufio.Scanner
	body   io.ReadCloser
	leave  func()
}

func (o *office) tab(b *http.Client, member string) *tab {
	o.t.Helper()
	ticket, _, err := o.Ticket(member)
	must(o.t, err)
	return &tab{t: o.t, browser: b, office: o, ticket: ticket}
}

// open asks for the stream once.
func (b *tab) open() *stream {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.office.url+Path+"?ticket="+url.QueryEscape(b.ticket), nil)
	must(b.t, err)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Sec-Fetch-Mode", "cors")
	if b.last != "" {
		r.Header.Set("Last-Event-ID", b.last)
	}
	answer, err := b.browser.Do(r) //nolint:bodyclose // the end of the stream or of the test does it
	if err != nil {
		cancel()
		b.t.Fatal(err)
	}
	s := &stream{tab: b, status: answer.StatusCode, header: answer.Header, lines: bufio.NewScanner(answer.Body), body: answer.Body}
	s.leave = func() {
		cancel()
		_ = s.body.Close() // of a request that was cancelled
	}
	b.t.Cleanup(s.leave)
	return s
}

// opens asks for the stream, and wants one.
func (b *tab) opens() *stream {
	b.t.Helper()
	s := b.open()
	if s.status != http.StatusOK {
		b.t.Fatalf("the tab is answered %d, want a stream", s.status)
	}
	return s
}

// next reads up to the next event, but for pings; false at the end.
func (s *stream) next() (e told, ok bool) {
	for s.lines.Scan() {
		field, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch field {
		case "event":
			e.name = value
		case "data":
			e.data += value
		case "id":
			s.tab.last = value
		case "retry":
			e.retry = value
		case "":
			if e.name != "" && e.name != "ping" {
				return e, true
			}
			e = told{retry: e.retry}
		}
	}
	return e, false
}

// gets wants these events next, by their data.
func (s *stream) gets(data ...string) {
	s.tab.t.Helper()
	for _, want := range data {
		if e, ok := s.next(); !ok || e.data != want {
			s.tab.t.Fatalf("got %+v (%v), want %q", e, s.lines.Err(), want)
		}
	}
}

// ends wants the server to end it with an event of this name, or without one.
func (s *stream) ends(name string) told {
	s.tab.t.Helper()
	var last told
	for e, ok := s.next(); ; e, ok = s.next() {
		if !ok {
			last.retry += e.retry
			break
		}
		last = e
	}
	if err := s.lines.Err(); err != nil || last.name != name {
		s.tab.t.Fatalf("the stream ended with %+v (%v), want %q", last, err, name)
	}
	return last
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		require.Falsef(t, time.Now().After(deadline), "%s: not after %v", what, patience)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	require.NoError(t, err)
}
