package rediscounter_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/counter/rediscounter"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
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
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("close the client: %v", err)
		}
	})
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

func newStore(t testing.TB, client redis.UniversalClient, prefix string) *rediscounter.Store {
	t.Helper()
	s, err := rediscounter.New(client, rediscounter.Config{Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
