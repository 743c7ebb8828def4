package scenarios

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/coalesce"
	coalescedriver "github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/coalesce/memcoalesce"
	"github.com/millrace-go/millrace/coalesce/rediscoalesce"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/ratelimit"
	ratelimitdriver "github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
)

// silence drops the client's own log about unreachable servers.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

func openRedis(t testing.TB, url string) redis.UniversalClient {
	t.Helper()
	// On a busy machine an answer may take long.
	client, err := redisdb.Open(url, redisdb.Config{Timeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { check(t, "close the client", client.Close()) })
	return client
}

func clusterURL(t testing.TB) string { t.Helper(); return "redis://" + servicetest.RedisCluster(t) }

// redisServers are the shared servers, by URL: none of them is an embedded default,
// and the column of servers has the Cluster.
func redisServers(t testing.TB) map[string]func(t testing.TB) string {
	t.Helper()
	switch proved(t) {
	case embedded:
		return nil
	case servers:
		return map[string]func(t testing.TB) string{"cluster": clusterURL}
	}
	return map[string]func(t testing.TB) string{"redis": servicetest.Redis, "cluster": clusterURL}
}

// unique is a name that no other test uses.
func unique() string { return "s" + strings.ToLower(rand.Text()) }

// eachFleet runs a scenario for ten instances on one store of each kind.
func eachFleet(t *testing.T, run func(t *testing.T, all []*coalesce.Coalescer)) {
	if proved(t) != servers {
		t.Run("memory", func(t *testing.T) {
			store := memcoalesce.New()
			run(t, fleet(t, func() coalescedriver.Store { return store }))
		})
	}
	for name, url := range redisServers(t) {
		t.Run(name, func(t *testing.T) { run(t, redisFleet(t, url(t), unique()+":")) })
	}
}

// redisFleet has a client for each instance, and removes the keys that the
// scenarios use.
func redisFleet(t *testing.T, url, prefix string) []*coalesce.Coalescer {
	t.Helper()
	clean := openRedis(t, url)
	t.Cleanup(func() {
		for _, key := range []string{"lock", "ver", "again"} {
			check(t, "remove the keys", clean.Del(context.Background(), prefix+"{"+theKey+"}:"+key).Err())
		}
	})
	return fleet(t, func() coalescedriver.Store {
		s, err := rediscoalesce.New(openRedis(t, url), rediscoalesce.Config{Prefix: prefix})
		require.NoError(t, err)
		return s
	})
}

// theKey is the key that all of a fleet ask for.
const theKey = "7"

// fleetConfig has locks that outlive the test.
func fleetConfig() coalesce.Config {
	return coalesce.Config{HighTTL: time.Hour, LowTTL: time.Hour, VersionTTL: 2 * time.Hour, Timeout: time.Minute}
}

func fleet(t *testing.T, store func() coalescedriver.Store) []*coalesce.Coalescer {
	t.Helper()
	var all []*coalesce.Coalescer
	for range 10 {
		c, err := coalesce.New(store(), fleetConfig())
		require.NoError(t, err)
		all = append(all, c)
	}
	return all
}

// newBudget makes a limiter on Redis, and returns its store.
func newBudget(t *testing.T, client redis.UniversalClient, name string, cfg ratelimit.Config) (*ratelimit.Limiter, ratelimitdriver.Store) {
	t.Helper()
	store, err := redisratelimit.New(client, redisratelimit.Config{Name: name})
	require.NoError(t, err)
	cfg.Logger = quiet
	l, err := ratelimit.New(store, cfg)
	require.NoError(t, err)
	return l, store
}

// removeBudget removes the keys of a budget at the test's end.
func removeBudget(t *testing.T, client redis.UniversalClient, name string) {
	t.Cleanup(func() {
		for _, key := range []string{"global", "low_cap", "day", "window", "low_window"} {
			check(t, "remove "+name, client.Del(context.Background(), "{"+name+"}:"+key).Err())
		}
	})
}
