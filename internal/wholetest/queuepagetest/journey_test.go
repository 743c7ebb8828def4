package queuepagetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/frontgate"
	"github.com/millrace-go/millrace/queue/frontgate/memgate"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/queuepage"
	"github.com/millrace-go/millrace/queue/token"
)

// store is a store that a test can make unreachable.
type store struct {
	driver.Store
	away atomic.Bool
}

var errAway = fault.MarkInfrastructure(errors.New("the store is away"))

func (s *store) Visit(ctx context.Context, event string, r driver.Rules, b driver.Beats, visits []driver.Visit) (driver.Visited, error) {
	if s.away.Load() {
		return driver.Visited{}, errAway
	}
	return s.Store.Visit(ctx, event, r, b, visits)
}

func (s *store) Look(ctx context.Context, event string, r driver.Rules, epoch, version uint64) (driver.View, error) {
	if s.away.Load() {
		return driver.View{}, errAway
	}
	return s.Store.Look(ctx, event, r, epoch, version)
}

// asleep is how long the room of a site keeps places of which it does not hear.
const asleep = 200 * time.Second

// site is a room with one place and a gate, as an application has them. The bearer
// token names the visitor.
type site struct {
	url   string
	ahead atomic.Int64 // the store's clock
	store *store
	gate  *frontgate.Gate
}

func openSite(t *testing.T) *site {
	t.Helper()
	chromium.Context(t) // skip before anything is started
	must := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	s := &site{}
	memory, err := memqueue.New(memqueue.Config{Now: func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }})
	must(err)
	s.store = &store{Store: memory}
	ring, err := token.NewRing("a secret of this test that is long enough")
	must(err)
	quiet := slog.New(slog.DiscardHandler)
	// Each poll sees the store's clock as it is: a test moves it by minutes.
	room, err := queue.New(s.store, ring, queue.Config{Threshold: 1, Seen: asleep, Tick: 100 * time.Millisecond, Refresh: time.Millisecond, MaxStale: 300 * time.Millisecond, Logger: quiet})
	must(err)
	counters, err := memgate.New(memgate.Config{})
	must(err)
	s.gate, err = frontgate.New(counters, ring, frontgate.Config{Line: room, Step: 1, Refresh: 10 * time.Millisecond})
	must(err)
	gates, err := frontgate.NewHandlers(s.gate, frontgate.HTTPConfig{})
	must(err)
	entries, err := token.NewEntries(ring, token.Config{})
	must(err)
	rooms, err := queuehttp.New(room, entries, queuehttp.Config{
		User: func(r *http.Request) (string, error) {
			user, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			return user, nil
		},
		Gate:   gates.Position,
		Logger: quiet,
	})
	must(err)
	waiting, err := queuepage.New(queuepage.Config{BearerKey: "member"})
	must(err)
	before, err := queuepage.New(queuepage.Config{Gate: true})
	must(err)

	mux := http.NewServeMux()
	rooms.Mount(mux.Handle, "/api/queue", nil)
	gates.Mount(mux.Handle, "/vwr")
	mux.Handle("GET /queue/{eventId}", waiting)
	mux.Handle("GET /vwr/{eventId}", before)
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html><title>elsewhere</title><link rel=icon href=data:,><body data-view=elsewhere>")
	})
	server := httptest.NewServer(mux)
	s.url = server.URL
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		assert.NoError(t, room.Run(ctx), "the admitter ended")
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		server.Close()
	})
	return s
}

// visitor opens a browser for a visitor.
func (s *site) visitor(t *testing.T, name string) *tab {
	t.Helper()
	tb := open(t, s.url, phone())
	tb.visit("/start")
	eval[bool](tb, fmt.Sprintf("(localStorage.setItem('member', %q), true)", name))
	return tb
}

// pollUntil polls until an expression is true.
func (tb *tab) pollUntil(expression string) {
	tb.Helper()
	for end := time.Now().Add(patience); !eval[bool](tb, expression); {
		if time.Now().After(end) {
			tb.until(expression)
		}
		tb.until("clock.idle() && (clock.delays().length > 0 || " + expression + ")")
		if !eval[bool](tb, expression) {
			eval[bool](tb, "clock.advance(clock.delays()[0])")
		}
	}
}

// TestBrowserTwoPeopleOnePlace goes through a real room: the second waits at
// position 1, keeps it during an outage, and enters when the first leaves.
func TestBrowserTwoPeopleOnePlace(t *testing.T) {
	s := openSite(t)
	first := s.visitor(t, "first")
	first.visit("/queue/show-1")
	first.until("location.pathname === '/events/show-1'")

	second := s.visitor(t, "second")
	second.visit("/queue/show-1")
	second.says("position", "1")
	third := s.visitor(t, "third")
	third.visit("/queue/show-1")
	third.says("position", "2")
	second.pollUntil("document.getElementById('behind').textContent === '1'")

	s.store.away.Store(true)
	second.pollUntil("document.body.dataset.trouble === 'busy'")
	second.says("position", "1")
	s.store.away.Store(false)
	second.pollUntil("document.body.dataset.trouble === ''")
	second.says("position", "1")

	eval[bool](first, `(fetch("/api/queue/leave/show-1", { method: "POST", headers: { Authorization: "Bearer first" } }), true)`)
	second.pollUntil("document.body.dataset.view === 'turn'")
	third.pollUntil("document.getElementById('position').textContent === '1'")
	eval[bool](second, "(document.getElementById('leave').click(), document.getElementById('yes').click(), true)")
	second.in("left")
	third.pollUntil("document.body.dataset.view === 'turn'")
	third.focus("enter-now")
	third.press("\r")
	third.until("location.pathname === '/events/show-1'")
}

// TestBrowserThroughTheGate is sent to a real gate, waits there, and comes into the
// line with its position.
func TestBrowserThroughTheGate(t *testing.T) {
	s := openSite(t)
	_, err := s.gate.Activate(t.Context(), "show-1")
	require.NoError(t, err)
	if _, err := s.gate.Assign(t.Context(), "show-1", ""); err != nil { // one visitor is ahead
		t.Fatal(err)
	}
	tb := s.visitor(t, "second")
	tb.visit("/queue/show-1")
	tb.until("location.pathname === '/vwr/show-1'")
	tb.says("position", "2")
	advance := func() {
		t.Helper()
		_, err := s.gate.Advance(t.Context(), "show-1", 0)
		require.NoError(t, err)
	}
	advance()
	tb.pollUntil("document.getElementById('position').textContent === '1'")
	// The number is the browser's: its id, copied into another browser, is none.
	address := "/vwr/check/show-1/" + eval[string](tb, "JSON.parse(localStorage.getItem('queuepage:gate:show-1')).request")
	for by, status := range map[*tab]int{tb: http.StatusOK, s.visitor(t, "thief"): http.StatusNotFound} {
		eval[bool](by, fmt.Sprintf("(fetch(%q).then((answer) => { window.status = answer.status }), true)", address))
		by.until(fmt.Sprintf("window.status === '%d'", status))
	}
	// The next poll leads into the line, and the room is empty: the line is no
	// longer than the way in.
	tb.until("clock.idle() && clock.delays().length > 0")
	advance()
	eval[bool](tb, "clock.advance(clock.delays()[0])")
	tb.until("location.pathname === '/events/show-1'")
}
