package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/memsse"
)

// fakeStreams are the live streams: those of package sse, on a cap in memory.
type fakeStreams struct {
	hub *sse.Hub

	mu      sync.Mutex
	tickets map[string]string // ticket → member
	opened  int               // streams that were asked for
	mode    string            // "", "fallback", "gone", or "refuse"
}

func startStreams(t testing.TB) *fakeStreams {
	t.Helper()
	limit, broker := memsse.New()
	hub, err := sse.New(limit, broker, sse.Config{
		Retry: 200 * time.Millisecond, Spread: 50 * time.Millisecond, Inbox: "/api/notifications",
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-done)
	})
	require.NoError(t, hub.Ready(ctx))
	return &fakeStreams{hub: hub, tickets: map[string]string{}}
}

// toMember sends a notification to the member's streams; there may be none.
func (s *fakeStreams) toMember(member string, n *fakeNotice) {
	_ = s.hub.ToMember(context.Background(), member, n.event()) // a live event that is lost is in the inbox
}

func (s *fakeStreams) toRoom(m fakeMessage) {
	body, _ := json.Marshal(map[string]string{"roomId": m.room, "senderId": m.SenderID, "message": m.Message}) // strings always marshal
	_ = s.hub.ToRoom(context.Background(), m.room, sse.Event{Name: "chat", ID: fmt.Sprintf("%s:%d", m.room, m.Seq), Data: body})
}

// set changes how streams are answered from now on.
func (s *fakeStreams) set(mode string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = mode
}

func (s *fakeStreams) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

// streaming is how many streams are open.
func (s *fakeStreams) streaming() int { return s.hub.Stats().Streams }

func (s *fakeStreams) member(ticket string) (member, mode string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tickets[ticket], s.mode
}

func (f *fake) streamRoutes(mux *http.ServeMux, handle fakeHandle) {
	s := f.streams
	handle("POST /api/notifications/ticket", func(_ *http.Request, member string) (int, any) {
		s.mu.Lock()
		defer s.mu.Unlock()
		ticket := fmt.Sprint("ticket-", len(s.tickets)+1)
		s.tickets[ticket] = member
		return 200, map[string]any{"ticket": ticket}
	}, false)
	mux.HandleFunc("GET /api/notifications/stream", func(w http.ResponseWriter, r *http.Request) {
		ticket := r.URL.Query().Get("ticket")
		member, mode := s.member(ticket)
		s.mu.Lock()
		s.opened++
		s.mu.Unlock()
		switch {
		case member == "" || mode == "refuse":
			problem(w, 401, "Sign in first", "")
			return
		case mode == "gone":
			w.WriteHeader(http.StatusNoContent)
			return
		case mode == "fallback":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "retry: 200\n\nevent: fallback\ndata: {\"inbox\":\"/api/notifications\"}\n\n")
			return
		}
		f.mu.Lock()
		rooms, muted := f.chat.of(member), f.inbox.muted[member]
		f.mu.Unlock()
		_ = s.hub.Serve(w, r, sse.Stream{Member: member, Token: ticket, Rooms: rooms, Muted: muted, Replay: f.replay(member), OnlyIfFree: r.URL.Query().Get("place") == "free"}) // it has answered
	})
}
