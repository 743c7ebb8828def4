package ratelimit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

// upstream counts the calls that reach it.
type upstream struct {
	*httptest.Server
	calls atomic.Int64
}

func newUpstream(t *testing.T, start func(http.Handler) *httptest.Server) *upstream {
	u := &upstream{}
	u.Server = start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.calls.Add(1)
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/here", http.StatusFound)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(u.Close)
	return u
}

// forgiving never lets a permit expire, even on a slow machine.
var forgiving = ratelimit.Limits{HardLimit: 1_000_000, Rate: 10_000, LowRate: 5_000, Delay: time.Minute}

// client returns a client of a transport that is closed with the test.
func client(t *testing.T, l *ratelimit.Limiter, cfg ratelimit.TransportConfig) *http.Client {
	t.Helper()
	tr, err := ratelimit.NewTransport(l, cfg)
	require.NoError(t, err)
	c := &http.Client{Transport: tr}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// reply is the answer to a call.
type reply struct {
	body, path string
	major      int
	tls        bool
}

func get(ctx context.Context, c *http.Client, url string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return reply{}, err
	}
	return send(c, req)
}

func send(c *http.Client, req *http.Request) (reply, error) {
	resp, err := c.Do(req)
	if err != nil {
		return reply{}, err
	}
	body, err := io.ReadAll(resp.Body)
	return reply{string(body), resp.Request.URL.Path, resp.ProtoMajor, resp.TLS != nil}, errors.Join(err, resp.Body.Close())
}

func total(taken [2]int) int64 { return int64(taken[0] + taken[1]) }

func TestTransportSpendsOnePermitForEachCall(t *testing.T) {
	for name, start := range map[string]func(http.Handler) *httptest.Server{"plain": httptest.NewServer, "TLS": httptest.NewTLSServer} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t, start)
			store := &budget{}
			l := limiter(t, store, ratelimit.Config{Limits: forgiving, Timeout: time.Minute})
			c := client(t, l, ratelimit.TransportConfig{
				Base: u.Client().Transport.(*http.Transport),
				Priority: func(r *http.Request) ratelimit.Priority {
					if r.URL.Query().Has("high") {
						return ratelimit.High
					}
					return ratelimit.Low
				},
			})
			var wg sync.WaitGroup
			for w := range 8 {
				wg.Go(func() {
					for range 10 {
						query := "?low"
						if w%4 == 0 {
							query = "?high"
						}
						body := strings.Repeat("x", 100_000)
						req, err := http.NewRequest(http.MethodPost, u.URL+query, strings.NewReader(body))
						if err != nil {
							t.Error(err)
							return
						}
						got, err := send(c, req)
						if err != nil || got.body != body {
							t.Errorf("%d bytes came back, %v", len(got.body), err)
							return
						}
						if got.major != 1 || got.tls != (name == "TLS") {
							t.Errorf("HTTP/%d, TLS %v", got.major, got.tls)
						}
					}
				})
			}
			wg.Wait()
			if got := store.taken(); got != [2]int{60, 20} || u.calls.Load() != 80 {
				t.Errorf("%v permits for %d calls", got, u.calls.Load())
			}
		})
	}
}

func TestTransportRedirect(t *testing.T) {
	u := newUpstream(t, httptest.NewServer)
	store := &budget{}
	l := limiter(t, store, ratelimit.Config{Limits: forgiving, Timeout: time.Minute})
	c := client(t, l, ratelimit.TransportConfig{})
	if got, err := get(context.Background(), c, u.URL+"/moved"); err != nil || got.path != "/here" {
		t.Fatalf("%v", err)
	}
	if total(store.taken()) != 2 || u.calls.Load() != 2 {
		t.Errorf("%v permits for %d hops", store.taken(), u.calls.Load())
	}
	// A permit of the caller serves the first hop.
	d, err := l.Allow(context.Background(), ratelimit.High)
	require.NoError(t, err)
	_, err = get(ratelimit.WithPermit(context.Background(), d.Permit), c, u.URL+"/moved")
	require.NoError(t, err)
	assert.ErrorIs(t, d.Permit.Use(func() error { return nil }), ratelimit.ErrPermitUsed, "the permit that was brought")
	if got := store.taken(); got[ratelimit.High] != 1 || total(got) != 4 || u.calls.Load() != 4 {
		t.Errorf("%v permits for %d hops", got, u.calls.Load())
	}
}

// stalled stops a call between its permit and its write until the permit has expired.
func stalled(ctx context.Context, once *sync.Once, until func() time.Time, then func()) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		once.Do(func() {
			<-time.After(time.Until(until()) + time.Millisecond)
			then()
		})
	}})
}

func TestNothingIsWrittenLate(t *testing.T) {
	u := newUpstream(t, httptest.NewServer)
	store := &budget{}
	l := limiter(t, store, ratelimit.Config{})
	c := client(t, l, ratelimit.TransportConfig{})
	if _, err := get(context.Background(), c, u.URL); err != nil { // so that there is a connection
		t.Fatal(err)
	}
	calls, granted := u.calls.Load(), len(grants(store))
	lasts := l.Plan().UseFor
	ctx := stalled(context.Background(), new(sync.Once), func() time.Time { return time.Now().Add(lasts) }, func() {})
	_, err := get(ctx, c, u.URL)
	require.NoError(t, err)
	if got := len(grants(store)) - granted; got < 2 || u.calls.Load() != calls+1 {
		t.Errorf("%d permits for %d calls; the one that expired was used", got, u.calls.Load()-calls)
	}
	// If no permit is left when the call continues, nothing is written.
	calls = u.calls.Load()
	limited, cancel := context.WithCancel(context.Background())
	defer cancel()
	ctx = stalled(limited, new(sync.Once), func() time.Time { return time.Now().Add(lasts) }, func() {
		store.set(0)
		time.AfterFunc(50*time.Millisecond, cancel)
	})
	if _, err := get(ctx, c, u.URL); !errors.Is(err, context.Canceled) || u.calls.Load() != calls {
		t.Errorf("without a permit: %v, %d calls", err, u.calls.Load()-calls)
	}
}

// set sets the number of free calls.
func (b *budget) set(tokens float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fixed, b.tokens = true, [2]float64{tokens, tokens}
}

// grants returns the asks of one caller each.
func grants(b *budget) []driver.Ask {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]driver.Ask(nil), b.asks...)
}

func TestUnusedPermitsAreGivenBack(t *testing.T) {
	store := &budget{}
	l := limiter(t, store, ratelimit.Config{Limits: forgiving, Timeout: time.Minute})
	refused := errors.New("no route")
	c := client(t, l, ratelimit.TransportConfig{Base: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, refused },
	}})
	for range 5 {
		if _, err := get(context.Background(), c, "http://upstream.test"); !errors.Is(err, refused) {
			t.Fatal(err)
		}
	}
	if store.taken() != [2]int{} || store.calls() != 5 {
		t.Errorf("%v permits taken in %d calls", store.taken(), store.calls())
	}
	// Contexts that end before or during the write, and some that do not.
	u := newUpstream(t, httptest.NewServer)
	var written atomic.Int64
	c = client(t, l, ratelimit.TransportConfig{Base: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return &counted{conn, &written}, err
		},
	}})
	for i := range 60 {
		ctx, cancel := context.WithCancel(context.Background())
		trace := &httptrace.ClientTrace{}
		switch i % 3 {
		case 0:
			trace.GetConn = func(string) { cancel() }
		case 1:
			trace.GotConn = func(httptrace.GotConnInfo) { cancel() }
		}
		if _, err := get(httptrace.WithClientTrace(ctx, trace), c, u.URL); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		cancel()
	}
	// A write in progress ends before another permit can be used.
	d, err := l.Allow(context.Background(), ratelimit.High)
	require.NoError(t, err)
	require.NoError(t, d.Permit.Use(func() error { return nil }))
	if got := total(store.taken()) - 1; got != written.Load() || got == 0 {
		t.Errorf("%d permits for %d writes", got, written.Load())
	}
}

// counted counts the writes; each call here is one.
type counted struct {
	net.Conn
	writes *atomic.Int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if n > 0 {
		c.writes.Add(1)
	}
	return n, err
}

func TestTransportFailsClosed(t *testing.T) {
	u := newUpstream(t, httptest.NewServer)
	l := limiter(t, &budget{before: func(context.Context, driver.Ask) error { return errAway }}, ratelimit.Config{})
	c := client(t, l, ratelimit.TransportConfig{})
	if _, err := get(context.Background(), c, u.URL); !errors.Is(err, ratelimit.ErrUnavailable) || u.calls.Load() != 0 {
		t.Errorf("%v, %d calls", err, u.calls.Load())
	}
}

func TestTransportConfigIsChecked(t *testing.T) {
	l := limiter(t, &budget{}, ratelimit.Config{})
	if _, err := ratelimit.NewTransport(nil, ratelimit.TransportConfig{}); err == nil {
		t.Error("a nil limiter was taken")
	}
	mustName(t, "TransportConfig.WriteTimeout", func() error {
		_, err := ratelimit.NewTransport(l, ratelimit.TransportConfig{WriteTimeout: -1})
		return err
	})
	mustName(t, "TransportConfig.Base", func() error {
		_, err := ratelimit.NewTransport(l, ratelimit.TransportConfig{Base: &http.Transport{
			DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return nil, nil },
		}})
		return err
	})
}
