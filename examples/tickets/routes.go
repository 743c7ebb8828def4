package main

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/queuepage"
	"github.com/millrace-go/millrace/sse"
)

// showID is the one show that is sold here. It is the waiting room's event.
const showID = "tonight"

//go:embed page.html
var page []byte

// routes are the page, the waiting room's, and the shop's behind its guard.
func (s *shop) routes(room *queuehttp.Handlers) http.Handler {
	mux := http.NewServeMux()
	waiting, err := queuepage.New(queuepage.Config{Admitted: "/", Brand: queuepage.Brand{Title: "Tickets", Home: "/"}})
	if err != nil {
		panic(err) // its settings are these
	}
	mux.Handle("GET /queue/{eventId}", waiting)
	room.Mount(mux.Handle, "/api/queue", nil)

	reads, writes := room.Guard(queuehttp.GuardConfig{}), room.Guard(queuehttp.GuardConfig{Writes: true})
	mux.HandleFunc("GET /{$}", s.page)
	mux.Handle("GET /api/seats/{eventId}", reads(http.HandlerFunc(s.list)))
	mux.Handle("GET /api/live/{eventId}", reads(http.HandlerFunc(s.live)))
	mux.Handle("POST /api/take/{eventId}", writes(s.acting(func(ctx context.Context, buyer string, a action) error {
		return s.take(ctx, a.Seat, buyer)
	})))
	mux.Handle("POST /api/pay/{eventId}", writes(s.acting(func(ctx context.Context, buyer string, a action) error {
		return s.pay(ctx, a.Seat, buyer, a.Card)
	})))
	mux.Handle("POST /api/free/{eventId}", writes(s.acting(func(ctx context.Context, buyer string, a action) error {
		return s.free(ctx, `id = $1 AND buyer = $2 AND state = 'held'`, a.Seat, buyer)
	})))
	return mux
}

const buyerCookie = "buyer"

// page gives each browser a name that no other can guess.
func (s *shop) page(w http.ResponseWriter, r *http.Request) {
	if _, err := buyerOf(r); err != nil {
		http.SetCookie(w, &http.Cookie{Name: buyerCookie, Value: rand.Text(), Path: "/", HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode})
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(page) //nolint:errcheck // the client has left
}

func buyerOf(r *http.Request) (string, error) {
	c, err := r.Cookie(buyerCookie)
	if err != nil || len(c.Value) < 26 {
		return "", errors.New("open the page first")
	}
	return c.Value, nil
}

func onlyThisShow(_ context.Context, event string) error {
	if event != showID {
		return queuehttp.ErrUnknownEvent
	}
	return nil
}

func (s *shop) list(w http.ResponseWriter, r *http.Request) {
	buyer, _ := buyerOf(r) // the guard knows it
	seats, err := s.seats(r.Context(), buyer)
	if err != nil {
		fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	json.NewEncoder(w).Encode(seats) //nolint:errcheck // the client has left
}

func (s *shop) live(w http.ResponseWriter, r *http.Request) {
	buyer, _ := buyerOf(r)
	if err := s.hub.Serve(w, r, sse.Stream{Member: buyer, Rooms: []string{showID}}); err != nil {
		slog.InfoContext(r.Context(), "a stream did not open", "error", err)
	}
}

// action is the body of a request.
type action struct {
	Seat string `json:"seat"`
	Card string `json:"card"`
}

// acting serves an action of a buyer.
func (s *shop) acting(do func(ctx context.Context, buyer string, a action) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		buyer, _ := buyerOf(r)
		var a action
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)).Decode(&a); err != nil || a.Seat == "" {
			http.Error(w, `send JSON such as {"seat": "A1"}`, http.StatusBadRequest)
			return
		}
		if err := do(r.Context(), buyer, a); err != nil {
			fail(w, r, err)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}
}

func fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errTaken) {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	slog.ErrorContext(r.Context(), "a request failed", "path", r.URL.Path, "error", err)
	http.Error(w, "this did not work; try again", http.StatusInternalServerError)
}
