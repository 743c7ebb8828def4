package meter_test

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/meter"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/ratelimit"
)

func open(t testing.TB, url string) redis.UniversalClient {
	t.Helper()
	client, err := redisdb.Open(url, redisdb.Config{})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, client.Close())
	})
	return client
}

func newRedis(t testing.TB, client redis.UniversalClient, name string) *meter.Redis {
	t.Helper()
	store, err := meter.NewRedis(client, meter.RedisConfig{Name: name})
	require.NoError(t, err)
	return store
}

func TestNewRedis(t *testing.T) {
	if _, err := meter.NewRedis(nil, meter.RedisConfig{}); err == nil || !strings.Contains(err.Error(), "client is nil") {
		t.Errorf("without a client: %v", err)
	}
	client := open(t, "redis://127.0.0.1:1/0")
	for _, name := range []string{"a{b", "a}b", "a b", "a\n"} {
		if _, err := meter.NewRedis(client, meter.RedisConfig{Name: name}); err == nil || !strings.Contains(err.Error(), "hash tag") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestManyProcesses has four meters, each with a client of its own, and one that only
// reads.
func TestManyProcesses(t *testing.T) {
	memory := meter.NewMemory()
	for kind, stores := range map[string]func(t *testing.T) func() meter.Store{
		"memory": func(*testing.T) func() meter.Store { return func() meter.Store { return memory } },
		"miniredis": func(t *testing.T) func() meter.Store {
			url := "redis://" + miniredis.RunT(t).Addr() + "/0"
			return func() meter.Store { return newRedis(t, open(t, url), "t") }
		},
		"redis": func(t *testing.T) func() meter.Store {
			url, name := servicetest.Redis(t), "t_"+strings.ToLower(rand.Text())
			return func() meter.Store { return newRedis(t, open(t, url), name) }
		},
		"cluster": func(t *testing.T) func() meter.Store {
			url, name := "redis://"+servicetest.RedisCluster(t), "t_"+strings.ToLower(rand.Text())
			return func() meter.Store { return newRedis(t, open(t, url), name) }
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			store := stores(t)
			var ends []func()
			var counting sync.WaitGroup
			for range 4 {
				m := newMeter(t, store(), meter.Config{})
				ends = append(ends, run(t, m))
				counting.Go(func() {
					tick := time.NewTicker(10 * time.Millisecond) // over several seconds, so that sums add up
					defer tick.Stop()
					for range 120 {
						m.Count(ratelimit.High, 1)
						m.Count(ratelimit.Low, 2)
						<-tick.C
					}
				})
			}
			counting.Wait()
			for _, end := range ends {
				end()
			}
			watcher := newMeter(t, store(), meter.Config{})
			var seconds []meter.Second
			boxtest.WaitFor(t, "the seconds of all four meters", func() bool {
				seconds = series(t, watcher, meter.MaxSeries)
				high, _ := sum(seconds)
				return high >= 4*120
			})
			high, low := sum(seconds)
			if high != 4*120 || low != 2*high {
				t.Errorf("%d and %d were counted, want 480 and 960", high, low)
			}
			for i, s := range seconds {
				if s.Unix != seconds[0].Unix+int64(i) {
					t.Fatalf("second %d of the series began at %d, the first at %d", i, s.Unix, seconds[0].Unix)
				}
			}
		})
	}
}

func TestRedisForgets(t *testing.T) {
	client, name := open(t, servicetest.Redis(t)), "t_"+strings.ToLower(rand.Text())
	store := newRedis(t, client, name)
	now, err := store.Add(t.Context(), nil)
	require.NoError(t, err)
	if n, err := client.Exists(t.Context(), "{"+name+"}:0").Result(); err != nil || n != 0 {
		t.Errorf("asking for the time alone leaves a key (%v)", err)
	}
	_, err = store.Add(t.Context(), []meter.Second{{Unix: now.Unix(), High: 1}, {Unix: now.Unix() - 1, Low: 1}})
	require.NoError(t, err)
	keys, err := client.Keys(t.Context(), "{"+name+"}:*").Result()
	if err != nil || len(keys) != 2 {
		t.Fatalf("%v (%v), want two keys", keys, err)
	}
	for _, key := range keys {
		if ttl, err := client.PTTL(t.Context(), key).Result(); err != nil || ttl <= 2*time.Minute || ttl > 3*time.Minute {
			t.Errorf("%s expires in %s (%v), want 3 min", key, ttl, err)
		}
	}
}

// TestRedisAway: the server stops and starts again.
func TestRedisAway(t *testing.T) {
	server := miniredis.RunT(t)
	client := open(t, "redis://"+server.Addr()+"/0")
	m := newMeter(t, newRedis(t, client, "t"), meter.Config{Logger: (&lines{}).logger()})
	run(t, m)
	boxtest.WaitFor(t, "a series", func() bool { _, err := m.Series(t.Context(), 5); return err == nil })
	server.Close()
	m.Count(ratelimit.High, 5)
	boxtest.WaitFor(t, "five to be dropped", func() bool { return m.Dropped() == 5 })
	if _, err := m.Series(context.Background(), 5); err == nil {
		t.Error("without a server there is a series")
	}
	require.NoError(t, server.Restart())
	// An earlier connection may still break.
	boxtest.WaitFor(t, "calls to be counted again", func() bool {
		m.Count(ratelimit.Low, 1)
		seconds, err := m.Series(t.Context(), 60)
		high, low := sum(seconds)
		return err == nil && high == 0 && low > 0
	})
}
