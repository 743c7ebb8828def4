package frontgate_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/queue/frontgate"
)

// A malformed body of an operator is refused and moves nothing. Raised by any
// amount, the serving counter never passes the last position given out.
func FuzzAdvance(f *testing.F) {
	for _, s := range []string{``, `{"by":5}`, `{"by":-1}`, `{"by":9223372036854775807}`, `{"by":1e3}`, `{"by":1}{"by":2}`, `{"bye":1}`, `null`, `[`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		g, err := frontgate.New(memory(t), ring(t, secret), frontgate.Config{})
		require.NoError(t, err)
		h, err := frontgate.NewHandlers(g, frontgate.HTTPConfig{})
		require.NoError(t, err)
		activate(t, g)
		for range 3 {
			assign(t, g)
		}
		r := httptest.NewRequest("POST", "/api/admin/vwr/advance/"+event, strings.NewReader(body))
		r.SetPathValue("eventId", event)
		w := httptest.NewRecorder()
		h.Advance(w, r)
		state, err := g.Status(t.Context(), event)
		require.NoError(t, err)
		switch {
		case state.Serving < 0 || state.Serving > state.Assigned || state.Assigned != 3:
			t.Fatalf("%q: %+v", body, state)
		case w.Code != 200 && (w.Code < 400 || w.Code > 499 || state.Serving != 0):
			t.Fatalf("%q: %d %s", body, w.Code, w.Body)
		}
	})
}

// A forged request id is refused, for any name of an event.
func FuzzCheck(f *testing.F) {
	f.Add(event, "x")
	f.Add("{a}", strings.Repeat("_", 56))
	f.Add("", "")
	requests := seal.NewRequests(ring(f, other))
	f.Add(event, requests.Seal(seal.Request{Event: event, Position: 1, Epoch: 1}))
	f.Fuzz(func(t *testing.T, of, id string) {
		g, err := frontgate.New(memory(t), ring(t, secret), frontgate.Config{})
		require.NoError(t, err)
		if turn, err := g.Check(t.Context(), of, id, ""); err == nil && turn.Admitted {
			t.Fatalf("%q passed the gate of %q: %+v", id, of, turn)
		}
	})
}
