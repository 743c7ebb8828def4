package queuehttp_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
)

// sink is a ResponseWriter that costs nothing.
type sink struct {
	header http.Header
	status int
	size   int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(b []byte) (int, error) { s.size += len(b); return len(b), nil }

// poller prepares a request of one of 10,000 waiting users, or of one inside.
func poller(b *testing.B, cookie bool, inside bool) (*site, *http.Request) {
	s := newSite(b, 1, nil)
	s.browser("alice").check("show-1")
	for i := range 10_000 {
		_, err := s.room.Check(b.Context(), "show-1", queue.Visitor{User: fmt.Sprint("member-", i)})
		require.NoError(b, err)
	}
	bob := s.browser("bob")
	ticket := bob.check("show-1").body.Ticket
	r, err := http.NewRequest("POST", "/api/queue/check/show-1", nil)
	check(b, err)
	switch {
	case inside:
		r.Header.Set("X-User", "alice")
	case cookie:
		r.Header.Set("X-User", "bob")
		r.AddCookie(&http.Cookie{Name: "session", Value: "0123456789abcdef0123456789abcdef"})
		r.AddCookie(&http.Cookie{Name: "urr-queue-ticket-show-1", Value: ticket})
	default:
		r.Header.Set("X-User", "bob")
		r.Header.Set("x-queue-ticket", ticket)
	}
	return s, r
}

func benchmarkPoll(b *testing.B, cookie, inside bool) {
	s, r := poller(b, cookie, inside)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		w := &sink{header: http.Header{}}
		r := r.Clone(b.Context())
		for pb.Next() {
			clear(w.header)
			s.mux.ServeHTTP(w, r)
			if w.status != 200 {
				b.Errorf("status %d", w.status)
				return
			}
		}
	})
}

// A poll of a waiting user, through the mux, with the ticket in the header.
func BenchmarkPoll(b *testing.B) { benchmarkPoll(b, false, false) }

// … in a cookie beside a session's.
func BenchmarkPollWithCookie(b *testing.B) { benchmarkPoll(b, true, false) }

// A poll of a user inside: a call of the store (in memory) and a new entry token.
func BenchmarkPollInside(b *testing.B) { benchmarkPoll(b, false, true) }
