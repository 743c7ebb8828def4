package gate_test

import (
	"context"
	"math"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/gate"
)

// An open stream keeps the place of its visitor, also over a panic of a function of the
// program's. A silent visitor loses it.
func TestOpenStreamsCountAsInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		begun := time.Now()
		random := func() float64 {
			if passed := time.Since(begun); passed > minute && passed < 2*minute {
				panic("broken")
			}
			return 0
		}
		s := newSite(t, queue.Config{Threshold: 2, Active: 60 * minute, Seen: 5 * minute, Random: random, Intervals: []queue.Interval{{UpTo: math.MaxInt, Every: 10 * time.Second}}}, func(c *gate.Config) {
			c.Transport = origin(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path == "/stream" {
					<-open
				}
				return echo(r)
			})
		})
		streams, silent := s.browser().enter(), s.browser().enter()
		done := make(chan int)
		go func() { done <- streams.do("GET", "/stream", nil).StatusCode }()
		time.Sleep(20 * minute)
		state, err := s.room.State(context.Background(), "sale")
		require.NoError(t, err)
		require.Equal(t, 1, state.Active, "visitors inside")
		require.EqualValues(t, 1, s.gate.Stats().Open)
		close(open)
		require.Equal(t, 200, <-done)
		require.Zero(t, s.gate.Stats().Open)
		require.Equal(t, 200, streams.do("GET", "/", nil).StatusCode)
		require.Equal(t, 429, silent.do("GET", "/", nil).StatusCode, "the pass is worth nothing without the place")
	})
}

// A crowd of requests of one visitor asks the room once in a while.
func TestRequestsInsideCostFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, queue.Config{Threshold: 1}, nil)
		b := s.browser().enter()
		before := s.store.visits.Load()
		for range 100 {
			require.Equal(t, 200, b.do("GET", "/a.png", nil).StatusCode)
			time.Sleep(time.Second)
		}
		require.EqualValues(t, 4, s.store.visits.Load()-before)
	})
}
