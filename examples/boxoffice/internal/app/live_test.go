package app

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/live"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/sse"
)

// page is an EventSource: it reconnects to its address, with its cookies.
type page struct {
	fan     *fan
	browser *http.Client
	ticket  string
}

func (f *fan) page() *page {
	f.p.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		f.p.t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	f.p.t.Cleanup(transport.CloseIdleConnections)
	w := &page{fan: f, browser: &http.Client{Jar: jar, Transport: transport}}
	var answer struct{ Ticket string }
	f.call(http.MethodPost, "/api/notifications/ticket", "", nil, 200, &answer)
	w.ticket = answer.Ticket
	return w
}

// feed is an open stream.
type feed struct {
	t      *testing.T
	status int
	lines  *bufio.Scanner
	close  func()
}

func (w *page) open() *feed {
	t := w.fan.p.t
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.fan.p.app.URL()+live.Path+"?ticket="+url.QueryEscape(w.ticket), nil)
	require.NoError(t, err)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Sec-Fetch-Mode", "cors")
	answer, err := w.browser.Do(r) //nolint:bodyclose // the end of the stream or of the test does it
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	f := &feed{t: t, status: answer.StatusCode, lines: bufio.NewScanner(answer.Body)}
	f.close = func() {
		cancel()
		answer.Body.Close() //nolint:errcheck // of a request that was cancelled
	}
	t.Cleanup(f.close)
	return f
}

// event is the next event's name, except pings; "" at the end.
func (f *feed) event() string {
	for f.lines.Scan() {
		if name, ok := strings.CutPrefix(f.lines.Text(), "event: "); ok && name != "ping" {
			return name
		}
	}
	return ""
}

func (f *feed) wants(event string) {
	f.t.Helper()
	if got := f.event(); got != event {
		f.t.Fatalf("the stream (%d) brings %q (%v), want %q", f.status, got, f.lines.Err(), event)
	}
}

// stays retries as often as it is told to, until it has a stream that stays.
func (w *page) stays() *feed {
	w.fan.p.t.Helper()
	hub, t := w.fan.p.app.office.news.live.Hub(), w.fan.p.t
	var f *feed
	boxtest.WaitFor(t, "a stream that stays", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, hub.Ready(ctx))
		f = w.open()
		// The stream has begun when it receives an event.
		if hub.ToMember(ctx, w.fan.member, sse.Event{Name: "probe"}) == nil && f.status == http.StatusOK && f.event() == "probe" {
			return true
		}
		f.close()
		return false
	})
	return f
}

// TestStreams: a stream by a ticket, its figures for an operator, and its end before
// that of the server.
func TestStreams(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"portable", "lean"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			p := start(t, "--data-dir", t.TempDir(), "--streams", how)
			ann := p.visitor("ann")
			mine := ann.page()
			feed := mine.stays()
			send := func(name string) {
				t.Helper()
				require.NoError(t, p.app.office.news.live.Hub().ToMember(t.Context(), "ann", sse.Event{Name: name}))
			}
			send("one")
			for got := feed.event(); got != "one"; got = feed.event() {
				if got != "probe" {
					t.Fatalf("the stream brings %q (%v)", got, feed.lines.Err())
				}
			}
			var report struct {
				Streams struct {
					Open, Members, Opened, Dropped int
					Leased, Hearing                bool
				}
			}
			(&fan{p: p, token: p.app.AdminToken()}).call(http.MethodGet, "/api/admin/ops", "", nil, 200, &report)
			if s := report.Streams; s.Open != 1 || s.Members != 1 || s.Opened < 1 || !s.Leased || !s.Hearing {
				t.Errorf("the operator sees %+v", s)
			}
			metrics := p.text("/metrics")
			for _, line := range []string{"millrace_sse_streams 1", `millrace_sse_ended_total{reason="evicted"} 0`, `stream_tickets_total{outcome="issued"} 1`, "millrace_sse_leased 1"} {
				assert.Containsf(t, metrics, "\n"+line+"\n", "%s is missing", line)
			}
			if err := p.stop(); err != nil { // with an error if the server had to cut it
				t.Error(err)
			}
			feed.wants("")
			assert.NoError(t, feed.lines.Err(), "the stream was cut")
		})
	}
}

func (p *process) text(path string) string {
	p.t.Helper()
	answer, err := p.http.Get(p.app.URL() + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// TestStreamsOfSplitProcesses: two serve, a worker sends, and the cap is one.
func TestStreamsOfSplitProcesses(t *testing.T) {
	t.Parallel()
	server, db, bank := redistest.StartServer(t), boxtest.URL(t), bank(t)
	role := func(roles string) *process {
		return start(t, "--data-dir", t.TempDir(), "--db-url", db, "--gateway-url", bank, "--roles", roles, "--redis-url", server.URL(), "--redis-prefix", "box:",
			"--secret", "a-secret-that-the-processes-share", "--admin-token", "admin-token-of-the-test")
	}
	one, two, worker := role("api"), role("api"), role("worker")
	ann := one.visitor("ann")
	mine := ann.page()
	feed := mine.stays()
	require.NoError(t, worker.app.office.news.live.Hub().ToMember(t.Context(), "ann", sse.Event{Name: "from-a-worker"}))
	for got := feed.event(); got != "from-a-worker"; got = feed.event() {
		if got != "probe" {
			t.Fatalf("the stream brings %q (%v)", got, feed.lines.Err())
		}
	}
	(&fan{p: worker}).call(http.MethodGet, live.Path, "", nil, 404, nil)
	if text := worker.text("/metrics"); !strings.Contains(text, "\nmillrace_sse_published_total{outcome=\"published\"} 1\n") {
		t.Error("the worker's metrics do not tell of what it sent")
	}

	// The same address at another process: with the cookie the same tab, else refused.
	ann.p = two
	stolen := ann.page()
	stolen.ticket = mine.ticket
	assert.Equal(t, http.StatusUnauthorized, stolen.open().status, "a used ticket at the other process")
	// A cookie jar knows hosts, and both are at 127.0.0.1.
	mine.stays()
	for got := feed.event(); got != "evicted"; got = feed.event() { // its place was taken by itself
		if got != "probe" {
			t.Fatalf("the former stream of the tab brings %q (%v)", got, feed.lines.Err())
		}
	}
	for i := range 3 {
		ann.p = []*process{one, two}[i%2]
		other := ann.page()
		other.stays()
	}
	ann.p = one
	assert.Equal(t, http.StatusNoContent, mine.open().status, "the evicted tab is answered")
	boxtest.WaitFor(t, "three streams, over both processes", func() bool {
		return one.app.office.news.live.Hub().Stats().Streams+two.app.office.news.live.Hub().Stats().Streams == 3
	})
}

// TestStreamsWhileRedisDown: the office begins without Redis, and pages are sent to
// the inbox; once it is there, a page has its stream without doing anything.
func TestStreamsWhileRedisDown(t *testing.T) {
	t.Parallel()
	server := redistest.StartServer(t)
	server.Kill()
	p := start(t, "--data-dir", t.TempDir(), "--redis-url", server.URL())
	ann := p.visitor("ann")
	ann.page().open().wants("fallback")
	server.Start()
	mine := ann.page()
	feed := mine.stays()
	server.Kill()
	for got := feed.event(); got != "fallback"; got = feed.event() {
		if got != "probe" {
			t.Fatalf("the stream brings %q (%v)", got, feed.lines.Err())
		}
	}
	feed.wants("")
	server.Start()
	mine.stays()
}

// A panic is an error of the server, and half an answer is not a whole one.
func TestObservePanics(t *testing.T) {
	t.Parallel()
	s := &server{requests: ops.NewRequests(), log: slog.New(slog.DiscardHandler)}
	server := httptest.NewServer(s.observe(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/half" {
			_, _ = io.WriteString(w, "[1, 2") // the client waits for it
		}
		panic("spoiled")
	})))
	t.Cleanup(server.Close)
	answer, err := server.Client().Get(server.URL + "/whole")
	require.NoError(t, err)
	answer.Body.Close()
	if answer.StatusCode != http.StatusInternalServerError {
		t.Errorf("a panic is answered %s", answer.Status)
	}
	if answer, err = server.Client().Get(server.URL + "/half"); err == nil {
		var text []byte
		text, err = io.ReadAll(answer.Body)
		answer.Body.Close()
		if err == nil {
			t.Errorf("half an answer was read as a whole one: %s %q", answer.Status, text)
		}
	}
}

// TestObserveLetsThrough: a handler behind it flushes, sets deadlines and takes the
// connection over.
func TestObserveLetsThrough(t *testing.T) {
	t.Parallel()
	s := &server{requests: ops.NewRequests(), log: slog.New(slog.DiscardHandler)}
	go_on, failed := make(chan struct{}), make(chan error, 1)
	server := httptest.NewServer(s.observe(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		failed <- func() error {
			rc := http.NewResponseController(w)
			if err := rc.SetReadDeadline(time.Time{}); err != nil {
				return fmt.Errorf("a deadline for reading: %w", err)
			}
			if r.URL.Path == "/flush" {
				if _, err := io.WriteString(w, "first"); err != nil {
					return err
				}
				if err := rc.Flush(); err != nil {
					return fmt.Errorf("flush: %w", err)
				}
				<-go_on
				if err := rc.SetWriteDeadline(time.Now().Add(-time.Second)); err != nil {
					return fmt.Errorf("a deadline for writing: %w", err)
				}
				if _, err := w.Write(make([]byte, 1<<20)); err == nil {
					return fmt.Errorf("a write after its deadline went well")
				}
				return nil
			}
			conn, _, err := rc.Hijack()
			if err != nil {
				return fmt.Errorf("hijack: %w", err)
			}
			_, err = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntaken")
			if err != nil {
				return err
			}
			return conn.Close()
		}()
	})))
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() }) //nolint:errcheck // nothing is lost
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(conn, "GET /flush HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	for lines := bufio.NewScanner(conn); lines.Scan() && lines.Text() != "first"; {
	}
	close(go_on)
	assert.NoError(t, <-failed)
	answer, err := server.Client().Get(server.URL + "/hijack")
	require.NoError(t, err)
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "taken" {
		t.Errorf("%q, %v", text, err)
	}
	assert.NoError(t, <-failed)
}
