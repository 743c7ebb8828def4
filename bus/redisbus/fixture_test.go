package redisbus_test

import (
	"context"
	"log/slog"
	"net/url"
	"testing"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

// place is a part of a server's keyspace for one test, by a prefix.
type place struct {
	url    string
	prefix string
	client redis.UniversalClient
}

// newPlace makes a place on a server. Its keys are deleted at the test's end.
func newPlace(t testing.TB, rawURL string) place {
	t.Helper()
	client, err := redisdb.Open(rawURL, redisdb.Config{})
	require.NoError(t, err)
	p := place{prefix: "t" + uuid.NewString() + ":", client: client}
	query := url.Values{"prefix": {p.prefix}}.Encode()
	p.url = rawURL + "?" + query
	t.Cleanup(func() {
		p.clear(t)
		assert.NoError(t, client.Close(), "close the client")
	})
	return p
}

func (p place) clear(t testing.TB) {
	ctx := context.Background()
	sweep := func(ctx context.Context, node *redis.Client) error {
		keys := node.Scan(ctx, 0, "*"+p.prefix+"*", 1000).Iterator()
		for keys.Next(ctx) {
			if err := p.client.Unlink(ctx, keys.Val()).Err(); err != nil {
				return err
			}
		}
		return keys.Err()
	}
	var err error
	switch client := p.client.(type) {
	case *redis.ClusterClient:
		err = client.ForEachMaster(ctx, sweep)
	case *redis.Client:
		err = sweep(ctx, client)
	}
	assert.NoError(t, err, "clear the test's keys")
}

// stream is the name of a partition's stream in the place.
func (p place) stream(topic, partition string) string {
	return "{" + p.prefix + topic + ":" + partition + "}"
}

// host is the server's address.
func (p place) host() string { return p.client.(*redis.Client).Options().Addr }

func single(t testing.TB) place {
	t.Helper()
	return newPlace(t, servicetest.Redis(t))
}

func cluster(t testing.TB) place {
	t.Helper()
	return newPlace(t, "redis://"+servicetest.RedisCluster(t)+"/")
}

var (
	publish   = sourcetest.Publish
	keyed     = sourcetest.Keyed
	subscribe = sourcetest.Subscribe
	receive   = sourcetest.Receive
)

func open(t testing.TB, cfg redisbus.Config, url string) *bus.Bus {
	t.Helper()
	b, err := tryOpen(cfg, url)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, b.Close(), "close")
	})
	return b
}

func tryOpen(cfg redisbus.Config, url string) (*bus.Bus, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return bus.Open(context.Background(), url, redisbus.Scheme(cfg))
}
