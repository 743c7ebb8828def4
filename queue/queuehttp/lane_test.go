package queuehttp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/token"
)

// The site says which lane a visitor belongs to; the room refuses one that it has not.
func TestLane(t *testing.T) {
	keys, err := token.NewRing(secret)
	require.NoError(t, err)
	store, err := memqueue.New(memqueue.Config{})
	require.NoError(t, err)
	room, err := queue.New(store, keys, queue.Config{Threshold: 1, Lanes: []queue.Lane{{Name: "member", Share: 0.5}}})
	require.NoError(t, err)
	entries, err := token.NewEntries(keys, token.Config{})
	require.NoError(t, err)
	lanes := map[string]string{"m": "member", "x": "nobility"}
	user := func(r *http.Request) string { return r.Header.Get("X-User") }
	handlers, err := queuehttp.New(room, entries, queuehttp.Config{
		User: func(r *http.Request) (string, error) { return user(r), nil },
		Lane: func(r *http.Request, event string) string {
			require.Equal(t, "e", event)
			return lanes[user(r)]
		},
	})
	require.NoError(t, err)
	mux := http.NewServeMux()
	handlers.Mount(mux.Handle, "/", nil)
	check := func(user string, want int) {
		t.Helper()
		r := httptest.NewRequest("POST", "/check/e", nil)
		r.Header.Set("X-User", user)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		require.Equal(t, want, w.Code, w.Body.String())
	}
	for _, user := range []string{"inside", "a", "b", "m"} {
		check(user, http.StatusOK)
	}
	check("x", http.StatusBadRequest)
	state, err := room.SetThreshold(t.Context(), "e", 3)
	require.NoError(t, err)
	require.Equal(t, 3, state.Waiting)
	turns, err := store.Admit(t.Context(), "e", driver.Rules{
		Threshold: 1, Active: 600e9, Seen: 600e9, NoShow: 150e9, Tick: 1e9, Batch: 10, SweepEvery: 30e9, Lanes: []queue.Lane{{Name: "member", Share: 0.5}},
	})
	require.NoError(t, err)
	require.Len(t, turns.Admitted, 2)
	require.Equal(t, "m", turns.Admitted[1].User)
}

// An operator sets the shares of lanes for an event.
func TestShares(t *testing.T) {
	s := newSale(t)
	type state struct{ Shares map[string]float64 }
	status := func() state { return into[state](t, s.do("GET", "/admin/status/show-1", "", "")) }
	require.Equal(t, map[string]float64{"member": 0.3, "invited": 0.1}, status().Shares)
	set := into[state](t, s.do("PUT", "/admin/shares/show-1", "", `{"shares": {"member": 0.45}}`))
	require.Equal(t, map[string]float64{"member": 0.45, "invited": 0.1}, set.Shares)
	require.Equal(t, set, status())
	for body, want := range map[string]string{
		"":                               "not a JSON object",
		"{}":                             "shares are missing",
		`{"shares": null}`:               "shares are missing",
		`{"shares": {"member": "0.3"}}`:  "no numbers by the names of lanes",
		`{"shares": {"nobility": 0.3}}`:  "there is no lane",
		`{"shares": {"member": 0.7}}`:    "give less than 0.75",
		`{"shares": {"member": -1}}`:     "give 0 or more",
		`{"shares": {}, "threshold": 5}`: "it takes shares alone",
	} {
		w := s.do("PUT", "/admin/shares/show-1", "", body)
		require.Equal(t, http.StatusBadRequest, w.Code, body)
		require.Contains(t, w.Body.String(), want, body)
	}
	require.Equal(t, set, status())
	into[state](t, s.do("PUT", "/admin/shares/show-1", "", `{"shares": {}}`))
	require.Equal(t, map[string]float64{"member": 0.3, "invited": 0.1}, status().Shares)
}
