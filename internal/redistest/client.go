package redistest

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// Servers opens a client of each kind of Redis that tests share.
var Servers = map[string]func(t testing.TB) redis.UniversalClient{
	"redis": func(t testing.TB) redis.UniversalClient { t.Helper(); return Open(t, servicetest.Redis(t)) },
	"cluster": func(t testing.TB) redis.UniversalClient {
		t.Helper()
		return Open(t, "redis://"+servicetest.RedisCluster(t))
	},
}

// Open opens a client, which is closed at the end of the test.
func Open(t testing.TB, url string) redis.UniversalClient {
	t.Helper()
	client, err := redisdb.Open(url, redisdb.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("close the client: %v", err)
		}
	})
	return client
}

// Silence is a logger for redis.SetLogger: many tests make the client log absent servers.
type Silence struct{}

// Printf discards its arguments.
func (Silence) Printf(context.Context, string, ...any) {}
