package sse_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/memsse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is for events that have to come; nothing is asserted about when they do.
const patience = 30 * time.Second

// both runs a test in both modes.
func both(t *testing.T, run func(t *testing.T, lean bool)) {
	t.Helper()
	t.Run("portable", func(t *testing.T) { run(t, false) })
	t.Run("lean", func(t *testing.T) { run(t, true) })
}

func newCap(t testing.TB) driver.MemoryCap {
	t.Helper()
	c, _ := memsse.New()
	return c
}

func newBroker(t testing.TB) driver.Broker {
	t.Helper()
	_, b := memsse.New()
	return b
}

// site is a hub with a server. The request's query describes the stream it wants.
type site struct {
	*sse.Hub
	url    string
	end    func() // ends the hub and waits for Run
	served chan error
	replay sse.Replayer
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	err := s.Serve(w, r, sse.Stream{
		Member: q.Get("member"), Token: q.Get("token"), Rooms: q["room"], Muted: q.Has("muted"), Address: q.Get("address"), OnlyIfFree: q.Has("free"), Replay: s.replay,
	})
	select {
	case s.served <- err:
	default:
	}
}

func start(t testing.TB, c driver.Cap, b driver.Broker, cfg sse.Config, configure ...func(*httptest.Server)) *site {
	t.Helper()
	s := begin(t, c, b, cfg, configure...)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, s.Ready(ctx))
	return s
}

// begin does not wait until the hub is ready.
func begin(t testing.TB, c driver.Cap, b driver.Broker, cfg sse.Config, configure ...func(*httptest.Server)) *site {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Timeout == 0 && cfg.Lease == 0 { // a loaded machine is no outage
		cfg.Lease, cfg.Timeout = 2*time.Minute, 30*time.Second
	}
	hub, err := sse.New(c, b, cfg)
	require.NoError(t, err)
	s := &site{Hub: hub, served: make(chan error, 1000)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx) }()
	ended := false
	s.end = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		assert.NoError(t, <-done)
	}
	server := httptest.NewUnstartedServer(s)
	for _, f := range configure {
		f(server)
	}
	if server.TLS == nil && !server.EnableHTTP2 {
		server.Start()
	}
	s.url = server.URL
	t.Cleanup(server.Close)
	t.Cleanup(s.end)
	return s
}

// client reads one stream.
type client struct {
	t      testing.TB
	header http.Header
	status int
	events chan told
	retry  chan string
	ended  chan struct{} // closed when the server has ended it
	close  func()
}

func dial(t testing.TB, url string, header ...string) *client {
	t.Helper()
	return dialBy(t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, url, header...)
}

func dialBy(t testing.TB, by *http.Client, url string, header ...string) *client {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := by.Do(request) //nolint:bodyclose // by the reader
	require.NoError(t, err)
	c := &client{
		t: t, header: response.Header, status: response.StatusCode, close: cancel,
		events: make(chan told, 10_000), retry: make(chan string, 100), ended: make(chan struct{}),
	}
	go func() {
		defer close(c.ended)
		defer func() {
			if err := response.Body.Close(); err != nil && !errors.Is(err, context.Canceled) {
				t.Log(err)
			}
		}()
		p := parser{
			dispatch: func(e told) {
				if e.Name != "ping" {
					c.events <- e
				}
			},
			retry: func(ms string) { c.retry <- ms },
		}
		_ = p.read(response.Body) // ends with the stream in any case
	}()
	t.Cleanup(func() { cancel(); <-c.ended })
	return c
}

// next is the next event, without pings.
func (c *client) next() told {
	c.t.Helper()
	e, ok := c.comes()
	if !ok {
		c.t.Fatal("the stream has ended, or nothing came")
	}
	return e
}

// comes is the next event, unless the stream ends before it.
func (c *client) comes() (told, bool) {
	select {
	case e := <-c.events:
		return e, true
	default:
	}
	select {
	case e := <-c.events:
		return e, true
	case <-c.ended:
	case <-time.After(patience):
	}
	select {
	case e := <-c.events:
		return e, true
	default:
		return told{}, false
	}
}

// gets expects exactly these data, in this order.
func (c *client) gets(data ...string) {
	c.t.Helper()
	for _, want := range data {
		if got := c.next(); got.Data != want {
			c.t.Fatalf("got %+v, want %q", got, want)
		}
	}
}

// over waits for the server to end the stream, and expects no more events.
func (c *client) over() {
	c.t.Helper()
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.t.Fatal("the stream goes on")
	}
	select {
	case e := <-c.events:
		c.t.Fatalf("a last event came: %+v", e)
	default:
	}
}

// eventually waits for background work of the process.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("%s: not after %v", what, patience)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	require.NoError(t, err)
}

func text(s string) sse.Event { return sse.Event{Data: []byte(s)} }
