package lineartest

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/coalesce/memcoalesce"
	"github.com/millrace-go/millrace/coalesce/rediscoalesce"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestLinearizable(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		check(t, func(_ testing.TB, n int) []driver.Store {
			return slices.Repeat([]driver.Store{memcoalesce.New()}, n)
		})
	})
	for name, url := range map[string]func(t testing.TB) string{
		"redis":   servicetest.Redis,
		"cluster": func(t testing.TB) string { t.Helper(); return "redis://" + servicetest.RedisCluster(t) },
	} {
		t.Run(name, func(t *testing.T) {
			url := url(t)
			check(t, func(t testing.TB, n int) (all []driver.Store) {
				prefix := redistest.Prefix(t, connect(t, url))
				for range n {
					s, err := rediscoalesce.New(connect(t, url), rediscoalesce.Config{Prefix: prefix})
					require.NoError(t, err)
					all = append(all, s)
				}
				return all
			})
		})
	}
}

func connect(t testing.TB, url string) redis.UniversalClient {
	t.Helper()
	// On a busy machine an answer may take long.
	client, err := redisdb.Open(url, redisdb.Config{Timeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, client.Close())
	})
	return client
}
