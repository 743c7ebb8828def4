package sse_test

import (
	_ "embed"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace-go/millrace/sse"
)

//go:embed testdata/clients/page.html
var pageHTML []byte

//go:embed testdata/clients/watch.mjs
var watchScript []byte

// door is a server with pages and streams. A client with its cookie gets a stream
// on /stream, and a client without cookies brings a ticket, of a member and a tab.
type door struct {
	*site
	server *httptest.Server
	cases  []string // streams that end

	mu    sync.Mutex
	asked map[string][]time.Time // by tab
}

func openDoor(t *testing.T, s *site, cases ...string) *door {
	t.Helper()
	d := &door{site: s, cases: cases, asked: map[string][]time.Time{}}
	d.server = httptest.NewServer(d)
	t.Cleanup(d.server.Close)
	if s != nil {
		t.Cleanup(s.end) // before the server waits for its streams
	}
	return d
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch r.URL.Path {
	case "/":
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "ann", Path: "/stream", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(pageHTML)
	case "/watch.mjs":
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write(watchScript)
	case "/stream":
		d.stream(w, r, q)
	case "/case":
		var n int
		_, _ = fmt.Sscan(q.Get("n"), &n)
		playCase(w, d.cases[n], q.Has("bytewise"))
	default:
		http.NotFound(w, r)
	}
}

func (d *door) stream(w http.ResponseWriter, r *http.Request, q url.Values) {
	member, tab, ok := strings.Cut(q.Get("ticket"), ".")
	if !ok {
		tab = q.Get("tab")
		cookie, err := r.Cookie("session")
		if err != nil {
			http.Error(w, "who is it?", http.StatusUnauthorized)
			return
		}
		member = cookie.Value
	}
	d.mu.Lock()
	d.asked[tab] = append(d.asked[tab], time.Now())
	d.mu.Unlock()
	_ = d.Serve(w, r, sse.Stream{Member: member, Token: tab, Replay: d.replay}) // it has answered
}

func (d *door) requests(tab string) []time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]time.Time(nil), d.asked[tab]...)
}

// playCase sends a stream that ends, at once or byte by byte.
func playCase(w http.ResponseWriter, stream string, bytewise bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	rc := http.NewResponseController(w)
	for len(stream) > 0 {
		n := len(stream)
		if bytewise {
			n = 1
		}
		_, _ = w.Write([]byte(stream[:n]))
		_ = rc.Flush() // the client's own errors show that it is gone
		stream = stream[n:]
	}
}
