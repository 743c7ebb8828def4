package queuehttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/token"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var secret = strings.Repeat("s", 32)

// flaky is a store that can be unreachable, and counts its visits.
type flaky struct {
	driver.MemoryStore
	away   atomic.Bool
	visits atomic.Int64
}

var errAway = fault.MarkInfrastructure(errors.New("redis: connection refused at 10.0.0.7:6379"))

func (f *flaky) Visit(ctx context.Context, event string, r driver.Rules, b driver.Beats, v []driver.Visit) (driver.Visited, error) {
	f.visits.Add(int64(len(v)))
	if f.away.Load() {
		return driver.Visited{}, errAway
	}
	return f.MemoryStore.Visit(ctx, event, r, b, v)
}

func (f *flaky) Look(ctx context.Context, event string, r driver.Rules, epoch, version uint64) (driver.View, error) {
	if f.away.Load() {
		return driver.View{}, errAway
	}
	return f.MemoryStore.Look(ctx, event, r, epoch, version)
}

func (f *flaky) Change(ctx context.Context, event string, r driver.Rules, c driver.Change) (queue.State, error) {
	if f.away.Load() {
		return queue.State{}, errAway
	}
	return f.MemoryStore.Change(ctx, event, r, c)
}

// site is a server of the handlers, a seat map for reads and a route for writes
// behind the guard. A header names the signed-in user.
type site struct {
	t        testing.TB
	store    *flaky
	room     *queue.Room
	entries  *token.Entries
	handlers *queuehttp.Handlers
	mux      *http.ServeMux
	https    bool
	beside   func() *site // one of another process, with the same store
}

var errNobody = errors.New("nobody")

func newSite(t testing.TB, threshold int, change func(*queuehttp.Config)) *site {
	t.Helper()
	mem, err := memqueue.New(memqueue.Config{})
	check(t, err)
	return siteOf(t, &flaky{MemoryStore: mem}, threshold, change)
}

func siteOf(t testing.TB, store *flaky, threshold int, change func(*queuehttp.Config)) *site {
	t.Helper()
	ring, err := token.NewRing(secret)
	check(t, err)
	s := &site{t: t, store: store, mux: http.NewServeMux(), beside: func() *site { return siteOf(t, store, threshold, change) }}
	s.room, err = queue.New(s.store, ring, queue.Config{Threshold: threshold, Logger: slog.New(slog.DiscardHandler)})
	check(t, err)
	s.entries, err = token.NewEntries(ring, token.Config{})
	check(t, err)
	cfg := queuehttp.Config{
		User: func(r *http.Request) (string, error) {
			if r.Header.Get("X-User") == "" {
				return "", errNobody
			}
			return r.Header.Get("X-User"), nil
		},
		Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&cfg)
	}
	s.handlers, err = queuehttp.New(s.room, s.entries, cfg)
	check(t, err)
	s.handlers.Mount(s.mux.Handle, "/api/queue/", func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-User") != "admin" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	served := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") })
	s.mux.Handle("/seats/{eventId}", s.handlers.Guard(queuehttp.GuardConfig{})(served))
	s.mux.Handle("/reserve/{eventId}", s.handlers.Guard(queuehttp.GuardConfig{Writes: true})(served))
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	require.NoError(t, err)
}

// admit runs an admitter until the test ends; in a bubble of synctest.
func (s *site) admit(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.room.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
}

// browser is a user with the cookies of a browser.
type browser struct {
	*site
	user    string
	cookies map[string]*http.Cookie
	header  http.Header // sent along
}

func (s *site) browser(user string) *browser {
	return &browser{site: s, user: user, cookies: map[string]*http.Cookie{}, header: http.Header{}}
}

type reply struct {
	status int
	text   string
	header http.Header
	set    []*http.Cookie
	body   struct {
		Status        any      `json:"status"` // a word, of a problem a number
		Queued        bool     `json:"queued"`
		Position      int      `json:"position"`
		PeopleAhead   int      `json:"peopleAhead"`
		PeopleBehind  int      `json:"peopleBehind"`
		EstimatedWait *float64 `json:"estimatedWait"`
		NextPoll      float64  `json:"nextPoll"`
		CurrentUsers  int      `json:"currentUsers"`
		Threshold     int      `json:"threshold"`
		QueueSize     int      `json:"queueSize"`
		EntryToken    string   `json:"entryToken"`
		ExpiresIn     int      `json:"expiresIn"`
		Ticket        string   `json:"ticket"`
		Paused        bool     `json:"paused"`
		Settling      int      `json:"settling"`
		Gated         bool     `json:"gated"`
		RedirectTo    string   `json:"redirectTo"`
		Error         string   `json:"error"`
		Reason        string   `json:"reason"`
		Type          string   `json:"type"`
		Title         string   `json:"title"`
		Detail        string   `json:"detail"`
		Field         string   `json:"field"`
	}
	fields map[string]json.RawMessage // as they came
}

func (b *browser) do(method, path, body string) reply {
	b.t.Helper()
	scheme := "http://shop.test"
	if b.https {
		scheme = "https://shop.test"
	}
	r := httptest.NewRequest(method, scheme+path, strings.NewReader(body))
	r.RequestURI = path // as a server has it
	for name, values := range b.header {
		r.Header[name] = values
	}
	if b.user != "" {
		r.Header.Set("X-User", b.user)
	}
	for _, c := range b.cookies {
		if !c.Secure || b.https {
			r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
		}
	}
	w := httptest.NewRecorder()
	b.mux.ServeHTTP(w, r)
	a := reply{status: w.Code, text: w.Body.String(), header: w.Result().Header, set: w.Result().Cookies()}
	for _, c := range a.set {
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		} else {
			b.cookies[c.Name] = c
		}
	}
	if strings.Contains(a.header.Get("Content-Type"), "json") {
		if err := json.Unmarshal([]byte(a.text), &a.body); err != nil {
			b.t.Fatalf("%s %s: %v in %s", method, path, err, a.text)
		}
		if err := json.Unmarshal([]byte(a.text), &a.fields); err != nil {
			b.t.Fatal(err)
		}
	}
	return a
}

func (b *browser) check(event string) reply {
	b.t.Helper()
	return b.do("POST", "/api/queue/check/"+event, "")
}

func (b *browser) want(a reply, status string, position, ahead, behind int) {
	b.t.Helper()
	if a.status != 200 || a.body.Status != status || a.body.Queued != (status == "queued") || a.body.Position != position || a.body.PeopleAhead != ahead || a.body.PeopleBehind != behind {
		b.t.Errorf("%s: %d %s; want %s at %d, %d ahead, %d behind", b.user, a.status, a.text, status, position, ahead, behind)
	}
}

// refused checks a problem.
func (b *browser) refused(a reply, status int, name, field string) {
	b.t.Helper()
	if a.status != status || a.body.Type != "/problems/"+name || a.body.Field != field || a.body.Title == "" || a.body.Detail == "" ||
		a.header.Get("Content-Type") != "application/problem+json" || a.header.Get("Cache-Control") != "no-store" {
		b.t.Errorf("%s: %d %v %s; want %d %s about %q", b.user, a.status, a.header, a.text, status, name, field)
	}
}

const pollPause = 2 * time.Second // after which a snapshot is new
