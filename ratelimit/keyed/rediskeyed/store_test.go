package rediskeyed_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/ratelimit/keyed"
	"github.com/millrace-go/millrace/ratelimit/keyed/driver"
	"github.com/millrace-go/millrace/ratelimit/keyed/rediskeyed"
)

func TestMain(m *testing.M) {
	redis.SetLogger(redistest.Silence{})
	goleak.VerifyTestMain(m)
}

// Two limiters are two processes.
func TestRates(t *testing.T) {
	for name, open := range redistest.Servers {
		t.Run(name, func(t *testing.T) {
			client := open(t)
			tag := "t_" + strings.ToLower(rand.Text())
			store := func() driver.Store {
				s, err := rediskeyed.New(client, rediskeyed.Config{Name: tag})
				require.NoError(t, err)
				return s
			}
			var limiters []*keyed.Limiter
			for range 2 {
				l, err := keyed.New(store(), keyed.Config{Timeout: 10 * time.Second})
				require.NoError(t, err)
				limiters = append(limiters, l)
			}
			// An hour a call: however slow this machine is, no key gets another one.
			var taken [3]atomic.Int64
			var all sync.WaitGroup
			for i := range 120 {
				all.Go(func() {
					if limiters[i%2].Take(t.Context(), fmt.Sprint("key", i%3), time.Hour, 7) == 0 {
						taken[i%3].Add(1)
					}
				})
			}
			all.Wait()
			for i := range taken {
				require.EqualValues(t, 7, taken[i].Load())
				key := fmt.Sprintf("{%s}:key%d", tag, i)
				left, err := client.PTTL(t.Context(), key).Result()
				require.NoError(t, err)
				require.InDelta(t, 7*time.Hour, left, float64(10*time.Minute))
				require.NoError(t, client.Del(context.Background(), key).Err())
			}
			for _, l := range limiters {
				require.Zero(t, l.Stats().Alone)
			}

			hour := driver.Limit{Every: time.Hour, Burst: 2}
			waits, err := store().Take(t.Context(), []driver.Ask{{Key: "a", Limit: hour}, {Key: "b", Limit: hour}, {Key: "a", Limit: hour}, {Key: "a", Limit: hour}})
			require.NoError(t, err)
			require.Equal(t, []time.Duration{0, 0, 0, time.Hour}, waits)
			require.NoError(t, client.Del(context.Background(), "{"+tag+"}:a", "{"+tag+"}:b").Err())

			// The wait that is told is enough.
			short := driver.Limit{Every: 50 * time.Millisecond, Burst: 1}
			for range 3 {
				waits, err := store().Take(t.Context(), []driver.Ask{{Key: "c", Limit: short}})
				require.NoError(t, err)
				time.Sleep(waits[0] + time.Millisecond)
				if waits[0] > 0 {
					waits, err = store().Take(t.Context(), []driver.Ask{{Key: "c", Limit: short}})
					require.NoError(t, err)
					require.Zero(t, waits[0])
				}
			}
			_, err = store().Take(t.Context(), nil)
			require.ErrorContains(t, err, "give 1 to 100")
		})
	}
}

func TestNew(t *testing.T) {
	patient := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}})
	defer patient.Close() //nolint:errcheck // never used
	_, err := rediskeyed.New(patient, rediskeyed.Config{})
	require.ErrorContains(t, err, "ContextTimeoutEnabled")
	_, err = rediskeyed.New(nil, rediskeyed.Config{})
	require.ErrorContains(t, err, "the client is nil")
	_, err = rediskeyed.New(patient, rediskeyed.Config{Name: "{a}"})
	require.ErrorContains(t, err, "without braces")
}
