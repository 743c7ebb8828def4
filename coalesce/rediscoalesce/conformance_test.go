package rediscoalesce_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/coalesce/coalescetest"
	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/coalesce/rediscoalesce"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// A client whose server is down dials once more for up to a second after its Close.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// servers names each kind of Redis, by URL.
var servers = map[string]func(t testing.TB) string{
	"redis":   servicetest.Redis,
	"cluster": func(t testing.TB) string { t.Helper(); return "redis://" + servicetest.RedisCluster(t) },
}

func open(t testing.TB, url string) redis.UniversalClient {
	t.Helper()
	// On a busy machine an answer may take long.
	client, err := redisdb.Open(url, redisdb.Config{Timeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

func eachServer(t *testing.T, run func(t *testing.T, url string)) {
	for name, url := range servers {
		t.Run(name, func(t *testing.T) { run(t, url(t)) })
	}
}

func newStore(t testing.TB, client redis.UniversalClient, prefix string) driver.Store {
	t.Helper()
	s, err := rediscoalesce.New(client, rediscoalesce.Config{Prefix: prefix})
	require.NoError(t, err)
	return s
}

// keysOf returns the Redis keys of an id, as its store names them.
func keysOf(prefix, id string) []string {
	tag := prefix + "{" + strings.NewReplacer("%", "%25", "}", "%7D").Replace(id) + "}"
	return []string{tag + ":lock", tag + ":ver", tag + ":again"}
}

// backdate shortens the TTLs of a key.
func backdate(client redis.UniversalClient, prefix string) func(context.Context, string, time.Duration) error {
	return func(ctx context.Context, id string, by time.Duration) error {
		for _, key := range keysOf(prefix, id) {
			left, err := client.PTTL(ctx, key).Result()
			if err != nil {
				return err
			}
			if left < 0 {
				continue // there is no such key
			}
			if left -= by; left > 0 {
				err = client.PExpire(ctx, key, left).Err()
			} else {
				err = client.Del(ctx, key).Err()
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func lose(client redis.UniversalClient, prefix string) func(context.Context, string) error {
	return func(ctx context.Context, id string) error { return client.Del(ctx, keysOf(prefix, id)...).Err() }
}

func TestConformance(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		client, peer := open(t, url), open(t, url)
		coalescetest.Run(t, func(t *testing.T) coalescetest.Harness {
			p := redistest.Prefix(t, client)
			return coalescetest.Harness{
				Store: newStore(t, client, p), Peer: newStore(t, peer, p), Backdate: backdate(client, p), Lose: lose(client, p),
			}
		})
	})
}
