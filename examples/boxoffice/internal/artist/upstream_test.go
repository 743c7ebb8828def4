package artist

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// served is a client of a handler, without a budget.
func served(t *testing.T, h http.HandlerFunc, cfg UpstreamConfig) (*Upstream, *httptest.Server) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	cfg.URL, cfg.Logger = s.URL, quiet
	if cfg.Transport == nil {
		transport := &http.Transport{ResponseHeaderTimeout: cfg.Timeout}
		t.Cleanup(transport.CloseIdleConnections)
		cfg.Transport = func(event.Priority) http.RoundTripper { return transport }
	}
	u, err := NewUpstream(cfg)
	require.NoError(t, err)
	return u, s
}

// The class of each answer decides on the next attempt.
func TestFetchJudges(t *testing.T) {
	answers := map[string]http.HandlerFunc{
		"ok": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text("ok", 4)) },
		"packed": func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				http.Error(w, "ask for gzip", http.StatusNotAcceptable)
				return
			}
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			fmt.Fprint(z, text("packed", 4))
			z.Close()
		},
		"404":  func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", 404) },
		"400":  func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", 400) },
		"302":  func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/artists/ok", http.StatusFound) },
		"500":  func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", 500) },
		"503":  func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusServiceUnavailable) },
		"odd":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"id":"odd","name":`) },
		"else": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text("1", 4)) },
		"huge": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, strings.Replace(text("huge", 4), "[]", `["`+strings.Repeat("x", 2<<20)+`"]`, 1))
		},
		"broken": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5000")
			fmt.Fprint(w, text("broken", 4)[:100])
		},
		"reset": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	u, _ := served(t, func(w http.ResponseWriter, r *http.Request) {
		answers[strings.TrimPrefix(r.URL.Path, "/artists/")](w, r)
	}, UpstreamConfig{})
	for id, want := range map[string]struct {
		reason string
		class  fault.Class
	}{
		"ok": {}, "packed": {},
		"404": {API4XX, fault.Permanent}, "400": {API4XX, fault.Permanent},
		"302": {ParseError, fault.Permanent}, "odd": {ParseError, fault.Permanent}, "else": {ParseError, fault.Permanent}, "huge": {ParseError, fault.Permanent},
		"500": {API5XX, fault.Transient}, "503": {API5XX, fault.Transient},
		"broken": {API5XX, fault.Transient}, "reset": {API5XX, fault.Transient},
	} {
		for _, p := range []event.Priority{event.High, event.Low} {
			d, err := u.Fetch(t.Context(), p, id)
			if want.reason == "" {
				if err != nil || d.ID != id || d.Level != 4 {
					t.Errorf("%s: %+v, %v", id, d, err)
				}
				continue
			}
			if err == nil || reasonOf(err) != want.reason || fault.Of(err) != want.class || missing(err) != (id == "404") {
				t.Errorf("%s: %v is %s, %v; want %s, %v", id, err, reasonOf(err), fault.Of(err), want.reason, want.class)
			}
		}
	}
}

// An answer that does not begin, or does not end, is a failure of the upstream.
func TestFetchTimeout(t *testing.T) {
	hang := make(chan struct{})
	t.Cleanup(sync.OnceFunc(func() { close(hang) })) // before the server closes
	u, _ := served(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "body") {
			fmt.Fprint(w, `{"id":`)
			w.(http.Flusher).Flush()
		}
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}, UpstreamConfig{Timeout: 50 * time.Millisecond})
	late := func(id string) error {
		t.Helper()
		_, err := u.Fetch(t.Context(), event.High, id)
		if err == nil || reasonOf(err) != API5XX || fault.Of(err) != fault.Transient {
			t.Fatalf("no %s: %v", id, err)
		}
		return err
	}
	_ = late("head")
	tries := 0
	for !errors.Is(late("body"), errTimeout) { // a slow machine's head does not come in time either
		if tries++; tries == 100 {
			t.Fatal("a body that does not come is never the reason")
		}
	}
	// A cancellation by the caller is no failure of the upstream.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := u.Fetch(ctx, event.High, "head"); !errors.Is(err, context.Canceled) || fault.Of(err) == fault.Permanent {
		t.Errorf("called off: %v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The wait for the budget has no bound; a budget that cannot be asked is our failure,
// not the artist's.
func TestFetchWaitsForBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := func(r *http.Request) error {
			select {
			case <-time.After(time.Hour):
				return nil
			case <-r.Context().Done():
				return r.Context().Err()
			}
		}
		var away atomic.Bool
		u, err := NewUpstream(UpstreamConfig{URL: "http://artists.test", Timeout: time.Second, Logger: quiet, Transport: func(event.Priority) http.RoundTripper {
			return roundTrip(func(r *http.Request) (*http.Response, error) {
				if away.Load() {
					return nil, fmt.Errorf("ratelimit: %w", fault.MarkInfrastructure(errors.New("redis is away")))
				}
				if err := wait(r); err != nil {
					return nil, err
				}
				w := httptest.NewRecorder()
				fmt.Fprint(w, text("7", 1))
				return w.Result(), nil
			})
		}})
		require.NoError(t, err)
		_, err = u.Fetch(t.Context(), event.Low, "7")
		assert.NoError(t, err, "after an hour")
		away.Store(true)
		if _, err := u.Fetch(t.Context(), event.Low, "7"); reasonOf(err) != NoBudget || fault.Of(err) != fault.Infrastructure {
			t.Errorf("without a budget: %v", err)
		}
	})
}

// A 429 stops all calls for the time of its Retry-After, and is counted.
func TestFetchRespectsRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, header := 0, "10"
		u, err := NewUpstream(UpstreamConfig{URL: "http://artists.test", Logger: quiet, Transport: func(event.Priority) http.RoundTripper {
			return roundTrip(func(*http.Request) (*http.Response, error) {
				calls++
				w := httptest.NewRecorder()
				if header == "" {
					fmt.Fprint(w, text("7", 1))
					return w.Result(), nil
				}
				w.Header().Set("Retry-After", header)
				w.WriteHeader(http.StatusTooManyRequests)
				return w.Result(), nil
			})
		}})
		require.NoError(t, err)
		refused := func(when string) {
			t.Helper()
			for _, p := range []event.Priority{event.High, event.Low} {
				if _, err := u.Fetch(t.Context(), p, "7"); reasonOf(err) != Limited || fault.Of(err) != fault.Infrastructure {
					t.Errorf("%s: %v", when, err)
				}
			}
		}
		refused("at first")
		time.Sleep(9999 * time.Millisecond)
		refused("before the time is over")
		assert.Equal(t, 1, calls, "calls")
		time.Sleep(time.Millisecond)
		header = time.Now().Add(3 * time.Second).UTC().Format(http.TimeFormat)
		refused("again, with a date")
		time.Sleep(3 * time.Second)
		header = "soon"
		refused("again, with nonsense")
		time.Sleep(defaultRest)
		header = ""
		if _, err := u.Fetch(t.Context(), event.High, "7"); err != nil || calls != 4 {
			t.Errorf("afterwards: %v, %d calls", err, calls)
		}
	})
}

// A 429 also ends the calls that wait for the budget, and none that was sent.
func TestRetryAfterEndsWaitingCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, err := NewUpstream(UpstreamConfig{URL: "http://artists.test", Logger: quiet, Transport: func(event.Priority) http.RoundTripper {
			return roundTrip(func(r *http.Request) (*http.Response, error) {
				w := httptest.NewRecorder()
				switch r.URL.Path {
				case "/artists/sent":
					httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{})
					fallthrough
				case "/artists/waits":
					select {
					case <-time.After(time.Second):
						fmt.Fprint(w, text("sent", 1))
					case <-r.Context().Done():
						return nil, r.Context().Err()
					}
				default:
					w.WriteHeader(http.StatusTooManyRequests)
				}
				return w.Result(), nil
			})
		}})
		require.NoError(t, err)
		var calls sync.WaitGroup
		calls.Go(func() {
			_, err := u.Fetch(t.Context(), event.Low, "sent")
			assert.NoError(t, err, "one that was sent")
		})
		calls.Go(func() {
			_, err := u.Fetch(t.Context(), event.Low, "waits")
			if reasonOf(err) != Limited || fault.Of(err) != fault.Infrastructure {
				t.Errorf("one that waits: %v", err)
			}
		})
		synctest.Wait()
		_, err = u.Fetch(t.Context(), event.High, "banned")
		assert.Error(t, err)
		calls.Wait()
	})
}

func TestNewUpstreamRefuses(t *testing.T) {
	transport := func(event.Priority) http.RoundTripper { return http.DefaultTransport }
	for name, cfg := range map[string]UpstreamConfig{
		"URL":       {Transport: transport},
		"http":      {URL: "ftp://x", Transport: transport},
		"Transport": {URL: "http://x"},
		"Timeout":   {URL: "http://x", Transport: transport, Timeout: -1},
		"MaxBody":   {URL: "http://x", Transport: transport, MaxBody: -1},
	} {
		if _, err := NewUpstream(cfg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without a proper %s: %v", name, err)
		}
	}
}
