package queuehttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/draw"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/filesettings"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/token"
)

// sale is the handlers of a room with settings.
type sale struct {
	*testing.T
	mux  *http.ServeMux
	room *queue.Room
	read func() error // before leaves are read
}

// leafStore is the store of a sale.
type leafStore struct {
	driver.MemoryStore
	of *sale
}

func (l leafStore) Draw(ctx context.Context, event string, r driver.Rules, step driver.DrawStep) (driver.Drawn, error) {
	if l.of.read != nil && step.Most > 0 {
		if err := l.of.read(); err != nil {
			return driver.Drawn{}, err
		}
	}
	return l.MemoryStore.Draw(ctx, event, r, step)
}

func newSale(t *testing.T) *sale {
	t.Helper()
	store, err := memqueue.New(memqueue.Config{})
	require.NoError(t, err)
	ring, err := token.NewRing(secret)
	require.NoError(t, err)
	settings, err := filesettings.Open(filepath.Join(t.TempDir(), "settings.json"))
	require.NoError(t, err)
	lanes := []queue.Lane{{Name: "member", Share: 0.3}, {Name: "invited", Share: 0.1}}
	s := &sale{T: t, mux: http.NewServeMux()}
	s.room, err = queue.New(leafStore{store, s}, ring, queue.Config{Threshold: 1, Settings: settings, Lanes: lanes, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	entries, err := token.NewEntries(ring, token.Config{})
	require.NoError(t, err)
	h, err := queuehttp.New(s.room, entries, queuehttp.Config{User: func(r *http.Request) (string, error) { return r.Header.Get("User"), nil }})
	require.NoError(t, err)
	h.Mount(s.mux.Handle, "/queue", func(next http.Handler) http.Handler { return next })
	return s
}

func (s *sale) do(method, path, user, body string) *httptest.ResponseRecorder {
	s.Helper()
	r := httptest.NewRequestWithContext(s.Context(), method, "/queue"+path, strings.NewReader(body))
	r.Header.Set("User", user)
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, r)
	return w
}

func into[T any](t *testing.T, w *httptest.ResponseRecorder) (v T) {
	t.Helper()
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &v), w.Body.String())
	return v
}

// TestDraw verifies an opening from what is served, as a visitor does.
func TestDraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSale(t)
		require.Equal(t, http.StatusNoContent, s.do("GET", "/draw/show-1", "", "").Code)
		for _, path := range []string{"/draw/show-1/leaves", "/receipt/show-1"} {
			w := s.do("GET", path, "ann", "")
			require.Equal(t, http.StatusNotFound, w.Code)
			require.Contains(t, w.Body.String(), "no-draw")
		}
		opens := time.Now().Add(time.Minute).UTC()
		state := into[struct{ Opens time.Time }](t, s.do("PUT", "/admin/opening/show-1", "", `{"opens":"`+opens.Format(time.RFC3339)+`"}`))
		require.True(t, opens.Equal(state.Opens))
		time.Sleep(time.Second)
		type place struct {
			Status             string
			Position, OpensIn  int
			NextPoll           float64
			Ticket, EntryToken string
		}
		for _, user := range []string{"ann", "bob", "cho"} {
			p := into[place](t, s.do("POST", "/check/show-1", user, ""))
			require.Equal(t, "queued", p.Status)
			require.Zero(t, p.Position)
			require.Equal(t, 59, p.OpensIn)
		}
		before := s.do("GET", "/draw/show-1", "", "")
		require.Equal(t, "public, max-age=1", before.Header().Get("Cache-Control"))
		require.NotContains(t, before.Body.String(), `"seed"`)
		require.Equal(t, http.StatusNotFound, s.do("GET", "/draw/show-1/leaves", "", "").Code)
		receipt := into[struct{ Leaf string }](t, s.do("GET", "/receipt/show-1", "bob", ""))
		require.Equal(t, http.StatusUnauthorized, s.do("GET", "/receipt/show-1", "", "").Code)

		ended := make(chan error, 1)
		ctx, stop := context.WithCancel(t.Context())
		go func() { ended <- s.room.Run(ctx) }()
		time.Sleep(time.Until(opens) + 2*time.Second)
		stop()
		require.NoError(t, <-ended)

		after := s.do("GET", "/draw/show-1", "", "")
		require.Equal(t, "public, max-age=86400", after.Header().Get("Cache-Control"))
		p := into[draw.Published](t, after)
		require.Equal(t, into[draw.Published](t, before).Commitment, p.Commitment)
		text := s.do("GET", "/draw/show-1/leaves", "", "")
		require.Equal(t, "public, max-age=86400, immutable", text.Header().Get("Cache-Control"))
		leaves, err := draw.ReadLeaves(text.Body)
		require.NoError(t, err)
		placeOf, err := p.Verify(leaves)
		require.NoError(t, err)
		leaf, err := draw.ParseLeaf(receipt.Leaf)
		require.NoError(t, err)
		want := placeOf(leaf)
		require.Positive(t, want)
		// The first takes the place.
		for _, user := range []string{"ann", "bob", "cho"} {
			s.do("POST", "/check/show-1", user, "")
		}
		got := into[place](t, s.do("POST", "/check/show-1", "bob", ""))
		require.Equal(t, want-1, got.Position, "the first is inside")
		require.Equal(t, want == 1, got.Status == "active")

		r := httptest.NewRequestWithContext(t.Context(), "GET", "/queue/draw/show-1/leaves", nil)
		r.Header.Set("If-None-Match", text.Header().Get("ETag"))
		w := httptest.NewRecorder()
		s.mux.ServeHTTP(w, r)
		require.Equal(t, http.StatusNotModified, w.Code)

		// No cache keeps a list that cannot be read, or that was cleared before its first leaf.
		list := func(status int) {
			t.Helper()
			w := s.do("GET", "/draw/show-1/leaves", "", "")
			require.Equal(t, status, w.Code, w.Body.String())
			require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
			require.Empty(t, w.Header().Get("ETag"))
		}
		s.read = func() error { return fault.MarkInfrastructure(errors.New("the store cannot be reached")) }
		list(http.StatusServiceUnavailable)
		time.Sleep(time.Second)
		s.read = func() error {
			s.read = nil
			_, err := s.room.Clear(t.Context(), "show-1")
			return err
		}
		list(http.StatusNotFound)
	})
}

func TestOpeningRefuses(t *testing.T) {
	s := newSale(t)
	for body, want := range map[string]string{
		"":                                  "not a JSON object",
		"[]":                                "not a JSON object",
		"{}":                                "opens is missing",
		`{"opens": "tomorrow"}`:             "opens is missing, or no time",
		`{"opens": 5}`:                      "opens is missing, or no time",
		`{"opens": null, "lanes": 2}`:       "the field \\\"lanes\\\"",
		`{"opens": "2020-05-01T11:00:00Z"}`: "at least 10s from now",
		`{"opens": "2220-05-01T11:00:00Z", "beacon": "x"}`: "Config.Beacon",
	} {
		w := s.do("PUT", "/admin/opening/show-1", "", body)
		require.Equal(t, http.StatusBadRequest, w.Code, body)
		require.Contains(t, w.Body.String(), want, body)
	}
	require.Equal(t, http.StatusRequestEntityTooLarge, s.do("PUT", "/admin/opening/show-1", "", strings.Repeat(" ", 5000)).Code)
	into[struct{}](t, s.do("PUT", "/admin/opening/show-1", "", `{"opens": null}`))
}
