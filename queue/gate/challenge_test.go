package gate_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/challenge"
	"github.com/millrace-go/millrace/queue/gate"
)

// free is a Taker without a bound.
type free struct{}

func (free) Take(context.Context, string, time.Duration, int) time.Duration { return 0 }

// While the challenge is on, a new browser gets the page and no place, also by
// navigations; the page gets the question and the solver. Visitors inside go on.
func TestChallenge(t *testing.T) {
	var on atomic.Bool
	s := newSite(t, queue.Config{Threshold: 1}, func(c *gate.Config) {
		c.Challenge = &challenge.Config{Keys: c.Keys, Limiter: free{}, On: func(string) bool { return on.Load() }}
	})
	inside, late := s.browser(), s.browser()
	inside.enter()
	on.Store(true)
	late.open("/")
	for range 2 {
		page := late.open("/")
		require.Equal(t, http.StatusServiceUnavailable, page.StatusCode)
		require.Contains(t, page.text, `"solver":"/millrace-gate/solver.js"`)
		require.Contains(t, page.Header.Get("Content-Security-Policy"), "worker-src 'self'")
		answer := late.do("POST", "/millrace-gate/check/sale", http.Header{"Accept": {"application/json"}})
		require.Equal(t, http.StatusForbidden, answer.StatusCode)
		require.Contains(t, answer.text, `"puzzle":`)
		require.Equal(t, http.StatusOK, inside.open("/").StatusCode)
	}
	solver := late.do("GET", "/millrace-gate/solver.js", http.Header{})
	require.Equal(t, http.StatusOK, solver.StatusCode)
	require.Contains(t, solver.text, "onmessage")
	state, err := s.room.State(t.Context(), "sale")
	require.NoError(t, err)
	require.EqualValues(t, 1, state.Joined)
	on.Store(false)
	require.Contains(t, late.poll(), `"position":1`)
}
