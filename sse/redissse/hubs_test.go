package redissse_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/redissse"
)

// process is a process with a hub and a server of its own.
type process struct {
	t   *testing.T
	hub *sse.Hub
	at  string
}

func startProcess(t *testing.T, client redis.UniversalClient, prefix string, wrap func(driver.Broker) driver.Broker, cfg sse.Config) *process {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	broker := wrap(newBroker(t, client, redissse.Config{Prefix: prefix}))
	hub, err := sse.New(newCap(t, client, prefix), broker, cfg)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		assert.NoError(t, hub.Run(ctx))
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		_ = hub.Serve(w, r, sse.Stream{Member: q.Get("member"), Token: q.Get("tab")}) // it has answered
	}))
	t.Cleanup(func() {
		stop()
		running.Wait()
		server.Close()
	})
	p := &process{t: t, hub: hub, at: server.URL}
	p.ready()
	return p
}

func (p *process) ready() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	if err := p.hub.Ready(ctx); err != nil {
		p.t.Fatal(err)
	}
}

// tab is a stream as its client sees it.
type tab struct {
	t      *testing.T
	status int
	lines  *bufio.Scanner
}

// open opens a stream, which ends with the test at the latest.
func (p *process) open(member, token string) *tab {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.at+"?member="+url.QueryEscape(member)+"&tab="+url.QueryEscape(token), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Sec-Fetch-Mode", "cors")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		cancel()
		answer.Body.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return &tab{t: p.t, status: answer.StatusCode, lines: bufio.NewScanner(answer.Body)}
}

// expect reads up to an event, and returns its data.
func (s *tab) expect(event string) string {
	s.t.Helper()
	for s.lines.Scan() {
		if s.lines.Text() != "event: "+event {
			continue
		}
		for s.lines.Scan() && s.lines.Text() != "" {
			if data, ok := strings.CutPrefix(s.lines.Text(), "data:"); ok {
				return strings.TrimSpace(data)
			}
		}
	}
	s.t.Fatalf("the stream ends (%v) before the event %s", s.lines.Err(), event)
	return ""
}

// ends reads to the end.
func (s *tab) ends() {
	s.t.Helper()
	for s.lines.Scan() {
	}
	if err := s.lines.Err(); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		s.t.Errorf("the stream ends with %v", err)
	}
}

// deaf is a broker that loses the messages about victims.
type deaf struct{ driver.Broker }

func (d deaf) Publish(ctx context.Context, m driver.Message) error {
	if m.Kind == driver.Disconnect {
		return nil
	}
	return d.Broker.Publish(ctx, m)
}

// TestHubs opens four tabs of a member at four processes: the oldest is told and ends,
// also when the message is lost, and does not come back. An event of one process comes
// to all.
func TestHubs(t *testing.T) {
	wraps := map[string]func(driver.Broker) driver.Broker{
		"told":   func(b driver.Broker) driver.Broker { return b },
		"missed": func(b driver.Broker) driver.Broker { return deaf{b} },
	}
	for kind, connect := range servers {
		for how, wrap := range wraps {
			t.Run(kind+" "+how, func(t *testing.T) {
				t.Parallel()
				prefix := redistest.Prefix(t, connect(t))
				cfg := sse.Config{Lease: time.Minute, Timeout: 10 * time.Second}
				if how == "missed" {
					cfg.Ping = 100 * time.Millisecond
				}
				var all []*process
				var tabs []*tab
				for i := range 4 {
					p := startProcess(t, connect(t), prefix, wrap, cfg)
					all, tabs = append(all, p), append(tabs, p.open("m", fmt.Sprint("tab", i)))
				}
				tabs[0].expect("evicted")
				tabs[0].ends()
				if back := all[1].open("m", "tab0"); back.status != http.StatusNoContent {
					t.Errorf("the evicted tab is answered %d when it comes back", back.status)
				}
				require.NoError(t, all[0].hub.ToMember(t.Context(), "m", sse.Event{Name: "notification", ID: "1", Data: []byte("hello")}))
				for i, s := range tabs[1:] {
					if data := s.expect("notification"); data != "hello" {
						t.Errorf("tab %d hears %q", i+1, data)
					}
				}
			})
		}
	}
}

// TestHubOutage ends the server: streams name the inbox and end, and come back with
// the server.
func TestHubOutage(t *testing.T) {
	t.Parallel()
	s := redistest.StartServer(t)
	asIs := func(b driver.Broker) driver.Broker { return b }
	p := startProcess(t, open(t, s.URL()), "", asIs, sse.Config{Lease: 3 * time.Second, Inbox: "/inbox"})
	stream := p.open("m", "tab")
	s.Kill()
	assert.Contains(t, stream.expect("fallback"), "/inbox", "the stream ends with")
	stream.ends()
	refused := p.open("m", "tab")
	if data := refused.expect("fallback"); refused.status != http.StatusOK || !strings.Contains(data, "/inbox") {
		t.Errorf("without Redis a browser is answered %d with %q", refused.status, data)
	}
	refused.ends()
	s.Start()
	p.ready()
	stream = p.open("m", "tab")
	require.NoError(t, p.hub.ToMember(t.Context(), "m", sse.Event{Name: "notification", ID: "1", Data: []byte("back")}))
	assert.Equal(t, "back", stream.expect("notification"), "hears")
}

// TestLiveBeforeDead opens streams at two processes. Those at the other one lose
// their clients, without a ping to notice it: they make room, the living ones stay.
func TestLiveBeforeDead(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			prefix := redistest.Prefix(t, connect(t))
			asIs := func(b driver.Broker) driver.Broker { return b }
			cfg := sse.Config{Lease: time.Minute, Timeout: 10 * time.Second, Ping: time.Hour, Lean: true}
			one, two := startProcess(t, connect(t), prefix, asIs, cfg), startProcess(t, connect(t), prefix, asIs, cfg)
			oldest := one.open("m", "oldest")
			for _, dead := range []string{"a", "b"} {
				two.opened("m", dead)()
			}
			tabs := []*tab{oldest, one.open("m", "c"), one.open("m", "d")}
			require.NoError(t, two.hub.ToMember(t.Context(), "m", sse.Event{Name: "notification", ID: "1", Data: []byte("hello")}))
			for i, s := range tabs {
				if data := s.expect("notification"); data != "hello" {
					t.Errorf("tab %d hears %q", i, data)
				}
			}
			assert.EqualValues(t, 0, one.hub.Stats().Victims, "were evicted")
		})
	}
}

// opened opens a stream. The returned function closes its connection.
func (p *process) opened(member, token string) (hangUp func()) {
	p.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.at, "http://"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	if _, err := fmt.Fprintf(conn, "GET /?member=%s&tab=%s HTTP/1.1\r\nHost: x\r\n\r\n", member, token); err != nil {
		p.t.Fatal(err)
	}
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "retry:") {
			return func() { _ = conn.Close() }
		}
	}
	p.t.Fatalf("no stream: %v", lines.Err())
	return nil
}
