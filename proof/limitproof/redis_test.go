package limitproof

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
	"github.com/millrace-go/millrace/redisclient"
)

// TestStepIsAStep makes the store decide after steps of the clock. The rate is so low
// that only the steps fill the buckets.
func TestStepIsAStep(t *testing.T) {
	s, err := startServer(t.Context(), redisServer(t), t.TempDir(), io.Discard)
	require.NoError(t, err)
	defer func() {
		assert.NoError(t, s.close())
	}()
	client, err := redisclient.Open(s.URL, redisclient.Config{Timeout: 10 * time.Second})
	require.NoError(t, err)
	defer client.Close() //nolint:errcheck // ends with the test
	store, err := redisratelimit.New(client, redisratelimit.Config{Name: "steps"})
	require.NoError(t, err)
	plan := &driver.Plan{Rate: 1, LowRate: 1, Burst: 500, LowBurst: 300, Delay: 20 * time.Millisecond, Yield: 20 * time.Millisecond}
	take := func(p ratelimit.Priority) int {
		t.Helper()
		g, err := store.Acquire(t.Context(), plan, driver.Ask{Runs: []driver.Run{{Priority: p, Size: 1, Count: 1000}}})
		require.NoError(t, err)
		return g.Runs[0].Granted
	}
	if err := s.step(t.Context(), "steps", time.Hour); err == nil || !strings.Contains(err.Error(), "no state") {
		t.Errorf("a step of nothing: %v", err)
	}
	few := 100 // the permits that a long stop of the machine brings in
	assert.Equal(t, 0, take(ratelimit.High), "of missing state")
	for _, c := range []struct {
		by          time.Duration
		p           ratelimit.Priority
		least, most int
	}{
		{time.Hour, ratelimit.High, 500, 500},
		{time.Hour, ratelimit.Low, 300, 300},
		{300 * time.Second, ratelimit.High, 450, 500}, // 200 are left beside 300 more
		{-time.Second / 2, ratelimit.High, 0, few},    // its time stands still
		{-time.Hour, ratelimit.High, 0, 0},            // begins again
		{200 * time.Second, ratelimit.High, 200, 200 + few},
		{200 * time.Second, ratelimit.Low, 200, 200 + few},
	} {
		require.NoError(t, s.step(t.Context(), "steps", c.by))
		if n := take(c.p); n < c.least || n > c.most {
			t.Errorf("after a step of %v: %d of %v, want %d to %d", c.by, n, c.p, c.least, c.most)
		}
	}
}
