package keyed_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/ratelimit/keyed"
	"github.com/millrace-go/millrace/ratelimit/keyed/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func limiter(t testing.TB, store driver.Store, cfg keyed.Config) *keyed.Limiter {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	l, err := keyed.New(store, cfg)
	require.NoError(t, err)
	return l
}

// script is a store that answers as it is told.
type script func(asks []driver.Ask) ([]time.Duration, error)

func (s script) Take(_ context.Context, asks []driver.Ask) ([]time.Duration, error) { return s(asks) }

func TestLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, nil, keyed.Config{})
		take := func(key string) time.Duration { return l.Take(t.Context(), key, time.Second, 3) }
		for range 3 {
			require.Zero(t, take("a"))
		}
		for range 5 {
			require.Equal(t, time.Second, take("a"))
		}
		require.Zero(t, take("b"))
		time.Sleep(time.Second - time.Microsecond)
		require.Equal(t, time.Microsecond, take("a"))
		time.Sleep(time.Microsecond)
		require.Zero(t, take("a"))
		require.Equal(t, time.Second, take("a"))
		time.Sleep(time.Hour)
		for range 3 {
			require.Zero(t, take("a"))
		}
		require.Equal(t, time.Second, take("a"))
		require.Equal(t, keyed.Stats{Taken: 8, Refused: 8, Alone: 16}, l.Stats())
	})
}

// Whatever the times of the calls: never more than the burst and one for each interval,
// and a caller that waits as long as it is told is served.
func TestAnyWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(p *rapid.T) {
		limit := driver.Limit{Every: time.Duration(rapid.Int64Range(1, 5000).Draw(p, "every")) * time.Microsecond, Burst: rapid.IntRange(1, 5).Draw(p, "burst")}
		pauses := rapid.SliceOfN(rapid.Int64Range(0, 6000), 1, 60).Draw(p, "pauses")
		synctest.Test(t, func(t *testing.T) {
			l := limiter(t, nil, keyed.Config{})
			var taken []time.Time
			due := time.Time{}
			for _, pause := range pauses {
				time.Sleep(time.Duration(pause) * time.Microsecond)
				wait := l.Take(t.Context(), "a", limit.Every, limit.Burst)
				now := time.Now()
				if wait > 0 {
					due = now.Add(wait)
					continue
				}
				require.False(t, now.Before(due), "taken before it was due")
				taken = append(taken, now)
				for i, at := range taken {
					within := now.Sub(at)
					most := float64(limit.Burst) + math.Floor(float64(within)/float64(limit.Every))
					require.LessOrEqual(t, float64(len(taken)-i), most, "within %s of %v", within, limit)
				}
			}
			if wait := l.Take(t.Context(), "a", limit.Every, limit.Burst); wait > 0 {
				time.Sleep(wait)
				require.Zero(t, l.Take(t.Context(), "a", limit.Every, limit.Burst), "after the wait")
			}
		})
	})
}

func TestACrowdSharesCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls, asks int
		l := limiter(t, script(func(a []driver.Ask) ([]time.Duration, error) {
			time.Sleep(time.Millisecond)
			calls, asks = calls+1, asks+len(a)
			return make([]time.Duration, len(a)), nil
		}), keyed.Config{})
		var all sync.WaitGroup
		for i := range 201 {
			all.Go(func() {
				assert.EqualValues(t, 0, l.Take(t.Context(), fmt.Sprint(i), time.Second, 1), "refused")
			})
		}
		all.Wait()
		require.Equal(t, 201, asks)
		require.LessOrEqual(t, calls, 4)
	})
}

func TestARefusedKeyCostsNoCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		l := limiter(t, script(func([]driver.Ask) ([]time.Duration, error) {
			calls++
			return []time.Duration{3 * time.Second}, nil
		}), keyed.Config{})
		take := func() time.Duration { return l.Take(t.Context(), "a", time.Second, 1) }
		require.Equal(t, 3*time.Second, take())
		time.Sleep(time.Second)
		for range 100 {
			require.Equal(t, 2*time.Second, take())
		}
		require.Equal(t, 1, calls)
		time.Sleep(2 * time.Second)
		require.Equal(t, 3*time.Second, take())
		require.Equal(t, 2, calls)
	})
}

func TestStoreAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls, away := 0, true
		l := limiter(t, script(func(asks []driver.Ask) ([]time.Duration, error) {
			calls++
			if away {
				time.Sleep(100 * time.Millisecond)
				return nil, errors.New("away")
			}
			return make([]time.Duration, len(asks)), nil
		}), keyed.Config{})
		began := time.Now()
		var all sync.WaitGroup
		for range 500 {
			all.Go(func() { l.Take(t.Context(), "a", time.Second, 3) })
		}
		all.Wait()
		require.Equal(t, 1, calls)
		require.Equal(t, 100*time.Millisecond, time.Since(began), "callers waited for the store one after the other")
		require.Equal(t, keyed.Stats{Taken: 3, Refused: 497, Alone: 500}, l.Stats())
		away = false
		time.Sleep(time.Second)
		require.Zero(t, l.Take(t.Context(), "a", time.Second, 3))
		require.Equal(t, 2, calls)
		require.EqualValues(t, 500, l.Stats().Alone)
	})
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, nil, keyed.Config{MaxKeys: 80})
		for i := range 1000 {
			require.Zero(t, l.Take(t.Context(), fmt.Sprint(i), time.Minute, 1))
			require.LessOrEqual(t, l.Keys(), 80)
		}
		time.Sleep(time.Minute)
		l.Take(t.Context(), "one more", time.Minute, 1)
		for i := range 80 {
			l.Take(t.Context(), fmt.Sprint(i), time.Hour, 1)
		}
		require.Less(t, l.Keys(), 82)
	})
}

// A key may be a header that a client has made up: a megabyte of it costs no more memory, and
// keys that differ at their end alone are different.
func TestALongKeyIsKeptShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	var asked []string
	away := false
	l := limiter(t, script(func(asks []driver.Ask) ([]time.Duration, error) {
		for _, a := range asks {
			asked = append(asked, a.Key)
		}
		if away {
			return nil, errors.New("away")
		}
		return []time.Duration{time.Hour}, nil
	}), keyed.Config{})
	for _, key := range []string{long + "a", long + "b", strings.Repeat("y", 200)} {
		require.Positive(t, l.Take(t.Context(), key, time.Minute, 1))
	}
	away = true
	require.Zero(t, l.Take(t.Context(), long+"c", time.Minute, 1))
	require.Positive(t, l.Take(t.Context(), long+"c", time.Minute, 1))
	require.Len(t, asked, 4)
	for _, key := range asked {
		require.LessOrEqual(t, len(key), 200)
	}
	require.Equal(t, 200, l.Longest())
}

func TestErrorsNameTheFix(t *testing.T) {
	t.Parallel()
	for want, limit := range map[string]driver.Limit{
		"Limit.Every is 0s; give 1":     {Burst: 1},
		"Limit.Burst is 0; give 1":      {Every: time.Second},
		"lower one of them":             {Every: time.Hour, Burst: 1000},
		"Limit.Every is 48h0m0s; give ": {Every: 48 * time.Hour, Burst: 1},
	} {
		require.ErrorContains(t, limit.Validate(), want)
	}
	for want, cfg := range map[string]keyed.Config{"Config.Timeout": {Timeout: -1}, "Config.MaxKeys": {MaxKeys: 3}} {
		_, err := keyed.New(nil, cfg)
		require.ErrorContains(t, err, want)
	}
	var out strings.Builder
	l, err := keyed.New(nil, keyed.Config{Logger: slog.New(slog.NewTextHandler(&out, nil))})
	require.NoError(t, err)
	require.Positive(t, l.Take(t.Context(), "a", 0, 1))
	require.Contains(t, out.String(), "Limit.Every")
}
