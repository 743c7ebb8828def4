package redisratelimit_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{})
	goleak.VerifyTestMain(m)
}

// silence is for the client's own words about servers that are gone.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

func open(t testing.TB, url string) redis.UniversalClient {
	t.Helper()
	client, err := redisdb.Open(url, redisdb.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// servers opens a client of each kind of Redis.
var servers = map[string]func(t testing.TB) redis.UniversalClient{
	"redis": func(t testing.TB) redis.UniversalClient { t.Helper(); return open(t, servicetest.Redis(t)) },
	"cluster": func(t testing.TB) redis.UniversalClient {
		t.Helper()
		return open(t, "redis://"+servicetest.RedisCluster(t))
	},
}

// name is a budget of the test's own on a shared server, removed at its end.
func name(t testing.TB, client redis.UniversalClient) string {
	t.Helper()
	n := "t_" + strings.ToLower(rand.Text())
	t.Cleanup(func() {
		for _, key := range []string{"global", "low_cap", "day", "window", "low_window"} {
			if err := client.Del(context.Background(), "{"+n+"}:"+key).Err(); err != nil {
				t.Errorf("remove %s: %v", n, err)
			}
		}
	})
	return n
}

func newStore(t testing.TB, client redis.UniversalClient, name string) *redisratelimit.Store {
	t.Helper()
	s, err := redisratelimit.New(client, redisratelimit.Config{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
