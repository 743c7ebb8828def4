package percentile

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOf(t *testing.T) {
	var all []time.Duration
	for i := range 1000 {
		all = append(all, time.Duration(999-i))
	}
	first := all[0]
	require.Equal(t, []time.Duration{500, 990, 999, 0}, []time.Duration{Of(all, 0.5), Of(all, 0.99), Of(all, 1), Of(nil, 0.5)})
	require.Equal(t, first, all[0], "the times were sorted in place")
}

func TestMeter(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	var m Meter
	require.Zero(t, m.Of(0.5))
	require.Zero(t, m.Count())
	var all []time.Duration
	for range 10_000 {
		took := time.Duration(1) << draw.IntN(40)
		took += time.Duration(draw.Int64N(int64(took)))
		all = append(all, took)
		m.Add(took)
	}
	slices.Sort(all)
	for _, share := range []float64{0.01, 0.5, 0.9, 0.99, 1} {
		want := Of(all, share)
		got := m.Of(share)
		require.LessOrEqual(t, got, want, "percentile %v", share)
		require.GreaterOrEqual(t, float64(got), float64(want)/1.02, "percentile %v", share)
	}
	require.Equal(t, all[len(all)-1], m.Max())
	require.EqualValues(t, len(all), m.Count())
	before := m.Counts()
	m.Add(time.Hour)
	since := m.Counts().Since(before)
	require.EqualValues(t, 1, since.Count())
	require.Greater(t, since.Of(0.5), 58*time.Minute)
}

func TestBuckets(t *testing.T) {
	for n := int64(0); n < 1<<20; n = n*65/64 + 1 {
		if b := bucket(n); least(b) > n || least(b+1) <= n {
			t.Errorf("%d is in the bucket from %d to %d", n, least(b), least(b+1))
		}
	}
}
