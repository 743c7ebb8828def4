package redisratelimit_test

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
)

// TestStateWithoutAShare: buckets that were stored without a share keep their content, in
// Acquire and in Return; a share begins empty.
func TestStateWithoutAShare(t *testing.T) {
	client := open(t, servicetest.Redis(t))
	budget := name(t, client)
	store := newStore(t, client, budget)
	server, now := strings.Repeat("a", 40), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMicro()
	redisratelimit.Clocked(store, func() (string, int64) { return server, now })
	plan, err := ratelimit.Limits{HardLimit: 500, Rate: 450, LowRate: 350}.Plan()
	require.NoError(t, err)
	value := []byte(server)
	for _, n := range []int64{now - 1_000_000, now, 7_000_000, now + 1_000} { // born, time, 7 calls, yield
		value = binary.LittleEndian.AppendUint64(value, math.Float64bits(float64(n)))
	}
	keys := redisratelimit.Keys(store, false)
	for _, giveBack := range []bool{false, true} {
		require.NoError(t, client.Set(t.Context(), keys[0], value, time.Minute).Err())
		want := 7
		if giveBack {
			require.NoError(t, store.Return(t.Context(), plan, driver.Returned{Priority: driver.High, Size: 3, At: now}))
			want += 3
		}
		g, err := store.Acquire(t.Context(), plan, driver.Ask{Runs: []driver.Run{
			{Priority: driver.Low, Size: 1, Count: 1}, {Priority: driver.High, Size: 1, Count: 100},
		}})
		require.NoError(t, err)
		if low, high := g.Runs[0], g.Runs[1]; low.Granted != 0 || low.Reason != driver.ReasonLowCap && low.Reason != driver.ReasonYield || high.Granted != want {
			t.Errorf("given back %t: low %+v, high %+v; want none for low, which has no share yet, and %d for high", giveBack, low, high, want)
		}
	}
}
