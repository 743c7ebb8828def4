package queuepagetest

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/challenge"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/queuepage"
	"github.com/millrace-go/millrace/queue/token"
	"github.com/millrace-go/millrace/ratelimit/keyed"
)

// challengedSite is a room of one place, whose newcomers are challenged while on is
// true, and of whom one may join from an address. A plain page is at /plain.
func challengedSite(t *testing.T, bits int, on *atomic.Bool) (base string) {
	t.Helper()
	chromium.Context(t) // skip before anything is started
	must := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	memory, err := memqueue.New(memqueue.Config{})
	must(err)
	ring, err := token.NewRing("a secret of this test that is long enough")
	must(err)
	quiet := slog.New(slog.DiscardHandler)
	room, err := queue.New(memory, ring, queue.Config{Threshold: 1, Logger: quiet})
	must(err)
	_, err = room.Check(t.Context(), "show-1", queue.Visitor{User: "inside"})
	must(err)
	entries, err := token.NewEntries(ring, token.Config{})
	must(err)
	limiter, err := keyed.New(nil, keyed.Config{})
	must(err)
	var users atomic.Int64
	rooms, err := queuehttp.New(room, entries, queuehttp.Config{
		User: func(r *http.Request) (string, error) {
			if c, err := r.Cookie("visitor"); err == nil {
				return c.Value, nil
			}
			return "", http.ErrNoCookie
		},
		Challenge: &challenge.Config{
			Keys: ring, Limiter: limiter, Bits: bits, On: func(string) bool { return on.Load() }, Accessible: challenge.Accessible{Wait: time.Second},
		},
		NoCookies: true, Logger: quiet,
		JoinRates: &queuehttp.JoinRates{Limiter: limiter, Rate: queuehttp.JoinRate{PerSecond: 1, Burst: 2}, Proxies: queuehttp.Proxies{Peer: true}},
	})
	must(err)
	page, err := queuepage.New(queuepage.Config{Solver: "/solver.js"})
	must(err)
	mux := http.NewServeMux()
	rooms.Mount(mux.Handle, "/api/queue", nil)
	mux.Handle("GET /solver.js", challenge.Solver())
	mux.HandleFunc("GET /queue/{eventId}", func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("visitor"); err != nil {
			http.SetCookie(w, &http.Cookie{Name: "visitor", Value: fmt.Sprint("v", users.Add(1)), Path: "/"})
		}
		page.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /plain", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>plain</title><link rel=icon href=data:,>")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	// An address that is no secure context, as a site over http is.
	return strings.Replace(server.URL, "127.0.0.1", "0.0.0.0", 1)
}

// A newcomer's browser works, and joins; one that is too slow joins by waiting. It runs
// over http, without crypto.subtle, and under the policy of the page.
func TestBrowserProof(t *testing.T) {
	for name, bits := range map[string]int{"work": 6, "wait": 24, "no worker": 6} {
		t.Run(name, func(t *testing.T) {
			var on atomic.Bool
			on.Store(true)
			base := challengedSite(t, bits, &on)
			tb := open(t, base, phone())
			tb.Expect("Cross-Origin-Opener-Policy header has been ignored") // over http
			if name == "no worker" {
				tb.before("globalThis.Worker = undefined")
			}
			tb.visit("/queue/show-1?lang=ko")
			assert.False(t, eval[bool](tb, "isSecureContext || Boolean(crypto.subtle)"), "this is a secure context, unlike a site over http")
			tb.until("clock.idle()")
			tb.until("document.body.dataset.view === 'waiting' || clock.delays().some((ms) => ms < 15000)")
			for eval[string](tb, "document.body.dataset.view") == "joining" {
				tb.poll() // of a page that was told to wait
			}
			tb.in("waiting")
			tb.says("position", "1")
			tb.poll() // with the ticket
			tb.says("position", "1")
		})
	}
}

// TestBrowserProofTime measures the proof of the default in a browser that is slowed
// six times. Its outcome does not depend on the time.
func TestBrowserProofTime(t *testing.T) {
	var on atomic.Bool
	tb := open(t, challengedSite(t, 12, &on), phone())
	tb.visit("/plain")
	set(tb, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: 6})
	join := joiner(t)
	eval[bool](tb, `(fetch('/solver.js').then((answer) => answer.text()).then((source) => {
		globalThis.solveIt = new Function('postMessage', source.replace('onmessage = ', 'return '));
	}), true)`)
	tb.until("globalThis.solveIt")
	var times []float64
	for i := range 5 {
		user := fmt.Sprint("u", i)
		times = append(times, eval[float64](tb, fmt.Sprintf(`(() => {
			const began = performance.now();
			solveIt((said) => { if (said.answer) globalThis.answer = said.answer; })({ data: %s });
			return performance.now() - began;
		})()`, join(user, "").question)))
		assert.Equal(t, http.StatusOK, join(user, eval[string](tb, "answer")).status, "the answer of the browser is answered with")
	}
	slices.Sort(times)
	t.Logf("ms for a proof, slowed six times: %.0f", times)
}

type joined struct {
	status   int
	question json.RawMessage
}

// joiner returns a function by which a user joins a room that challenges, with the proof of
// the default and no other way, and brings an answer, if it is not empty.
func joiner(t *testing.T) func(user, answer string) joined {
	t.Helper()
	must := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	memory, err := memqueue.New(memqueue.Config{})
	must(err)
	ring, err := token.NewRing("a secret of this test that is long enough")
	must(err)
	room, err := queue.New(memory, ring, queue.Config{Logger: slog.New(slog.DiscardHandler)})
	must(err)
	entries, err := token.NewEntries(ring, token.Config{})
	must(err)
	limiter, err := keyed.New(nil, keyed.Config{})
	must(err)
	rooms, err := queuehttp.New(room, entries, queuehttp.Config{
		User:      func(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil },
		Challenge: &challenge.Config{Keys: ring, Limiter: limiter, Accessible: challenge.Accessible{Wait: -1}},
	})
	must(err)
	mux := http.NewServeMux()
	rooms.Mount(mux.Handle, "/api/queue", nil)
	return func(user, answer string) joined {
		t.Helper()
		r := httptest.NewRequest("POST", "/api/queue/check/show-1", nil)
		r.Header.Set("X-User", user)
		if answer != "" {
			r.Header.Set("X-Queue-Challenge", answer)
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		var body struct{ Challenge json.RawMessage }
		must(json.Unmarshal(w.Body.Bytes(), &body))
		return joined{w.Code, body.Challenge}
	}
}

// TestBrowserTooManyJoins sees the words of the room for a network of many, in both
// languages, and joins when it may.
func TestBrowserTooManyJoins(t *testing.T) {
	f := start(t, queuepage.Config{}, queuepage.Config{})
	many := problem(429, "too-many-joins")
	many.body["words"] = map[string]any{"en": "Many join here.", "ko": "많아요."}
	many.retryAfter = 3
	f.is("check", many)
	tb := open(t, f.URL, phone())
	tb.visit("/queue/e")
	tb.says("trouble", "Many join here.")
	assert.Equal(t, "joining", eval[string](tb, "document.body.dataset.view"), "the page shows")
	eval[bool](tb, "(document.getElementById('lang').click(), true)")
	tb.says("trouble", "많아요.")
	if next := tb.next(); next < 3*time.Second {
		t.Errorf("the page asks in %v", next)
	}
	f.is("check", busy(0))
	tb.poll()
	tb.until("document.getElementById('trouble').textContent !== '많아요.'")
	f.is("check", queued(7))
	tb.poll()
	tb.says("position", "7")
}

// A newcomer whose solver does not come joins by waiting.
func TestBrowserSolverHangs(t *testing.T) {
	f := start(t, queuepage.Config{Solver: "/solver.js"}, queuepage.Config{})
	asks := problem(403, "challenge-needed")
	asks.body["challenge"] = map[string]any{"puzzle": "p1"}
	f.is("check", asks)
	f.is("solver", answer{hang: true})
	tb := open(t, f.URL, phone())
	tb.visit("/queue/e")
	tb.next()
	f.is("check", queued(7))
	tb.poll()
	tb.says("position", "7")
	assert.Equal(t, "check e wait.p1", f.heard("check")[1], "asked")
}
