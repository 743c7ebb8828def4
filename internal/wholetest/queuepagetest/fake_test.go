package queuepagetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue/queuepage"
)

// answer is an answer of the fake: a status and its JSON.
type answer struct {
	status     int
	body       map[string]any
	retryAfter int
	until      time.Time // a Retry-After as a date
	location   string
	hang       bool // until the test ends
	drop       bool // the connection
}

func queued(position int, more ...any) answer {
	body := map[string]any{
		"status": "queued", "queued": true, "position": position, "peopleAhead": position - 1, "peopleBehind": 4812, "estimatedWait": float64(position) / 10,
		"nextPoll": 2, "queueSize": position + 4812, "currentUsers": 998, "threshold": 1000, "ticket": fmt.Sprintf("ticket-%d", position),
	}
	for i := 0; i+1 < len(more); i += 2 {
		body[fmt.Sprint(more[i])] = more[i+1]
	}
	return answer{status: 200, body: body}
}

func admitted(expires int) answer {
	return answer{status: 200, body: map[string]any{"status": "active", "queued": false, "nextPoll": 3, "expiresIn": expires, "entryToken": "entry-token"}}
}

func gone() answer {
	return answer{status: 200, body: map[string]any{"status": "none", "queued": false, "nextPoll": 3}}
}

func problem(status int, kind string) answer {
	return answer{status: status, body: map[string]any{"type": "/problems/" + kind, "title": kind, "status": status}}
}

func busy(retryAfter int) answer {
	a := problem(503, "unavailable")
	a.retryAfter = retryAfter
	return a
}

func atGate(position, serving int) answer {
	return answer{status: 200, body: map[string]any{"admitted": position <= serving, "position": position, "servingCounter": serving, "nextPoll": 2}}
}

// fake is a site with a room and a gate, whose answers a test sets.
type fake struct {
	*httptest.Server
	release chan struct{}

	mu      sync.Mutex
	answers map[string]answer // by route: check, heartbeat, leave, assign, turn
	asked   []string          // route, event and the data sent
}

func start(t *testing.T, room, gate queuepage.Config) *fake {
	t.Helper()
	f := &fake{release: make(chan struct{}), answers: map[string]answer{}}
	gate.Gate = true
	rooms, err := queuepage.New(room)
	require.NoError(t, err)
	gates, err := queuepage.New(gate)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("GET /queue/{eventId}", rooms)
	mux.Handle("GET /queue", rooms)
	mux.Handle("GET /vwr/{eventId}", gates)
	mux.HandleFunc("POST /api/queue/check/{eventId}", f.route("check"))
	mux.HandleFunc("POST /api/queue/heartbeat/{eventId}", f.route("heartbeat"))
	mux.HandleFunc("POST /api/queue/leave/{eventId}", f.route("leave"))
	mux.HandleFunc("POST /vwr/assign/{eventId}", f.route("assign"))
	mux.HandleFunc("GET /vwr/check/{eventId}/{requestId}", f.route("turn"))
	mux.HandleFunc("GET /solver.js", f.route("solver"))
	mux.HandleFunc("GET /api/shows/{eventId}", func(w http.ResponseWriter, r *http.Request) {
		write(w, answer{status: 200, body: map[string]any{"title": "The Paper Lanterns: <i>Night</i> Market"}})
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html><title>elsewhere</title><body data-view=elsewhere><link rel=icon href=data:,>")
	})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		close(f.release)
		f.Close()
	})
	return f
}

func (f *fake) route(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		asked := []string{name, r.PathValue("eventId")}
		for _, more := range []string{r.PathValue("requestId"), r.Header.Get("x-queue-ticket"), r.Header.Get("x-queue-challenge"), r.Header.Get("Authorization")} {
			if more != "" {
				asked = append(asked, more)
			}
		}
		f.mu.Lock()
		f.asked = append(f.asked, strings.Join(asked, " "))
		a, ok := f.answers[name]
		f.mu.Unlock()
		if !ok {
			a = problem(404, "unknown-event")
		}
		if a.hang {
			select {
			case <-f.release:
			case <-r.Context().Done():
			}
			return
		}
		if a.drop {
			panic(http.ErrAbortHandler)
		}
		write(w, a)
	}
}

func write(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "application/json")
	if a.status >= 400 {
		w.Header().Set("Content-Type", "application/problem+json")
	}
	if a.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(a.retryAfter))
	}
	if !a.until.IsZero() {
		w.Header().Set("Retry-After", a.until.UTC().Format(http.TimeFormat))
	}
	if a.location != "" {
		w.Header().Set("Location", a.location)
	}
	w.WriteHeader(a.status)
	if a.body != nil {
		_ = json.NewEncoder(w).Encode(a.body) // the page may be gone
	}
}

func (f *fake) is(route string, a answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[route] = a
}

// heard returns the requests to a route.
func (f *fake) heard(route string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, asked := range f.asked {
		if strings.HasPrefix(asked, route+" ") {
			out = append(out, asked)
		}
	}
	return out
}
