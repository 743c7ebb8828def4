package redisqueue_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/redisqueue"
)

func TestMain(m *testing.M) {
	redis.SetLogger(redistest.Silence{})
	goleak.VerifyTestMain(m)
}

var (
	open    = redistest.Open
	servers = redistest.Servers
)

func newStore(t testing.TB, client redis.UniversalClient, prefix string) driver.Store {
	t.Helper()
	s, err := redisqueue.New(client, redisqueue.Config{Prefix: prefix})
	require.NoError(t, err)
	return s
}

// every calls do with a client of each server that has keys of its own.
func every(ctx context.Context, client redis.UniversalClient, do func(ctx context.Context, node *redis.Client) error) error {
	switch c := client.(type) {
	case *redis.ClusterClient:
		return c.ForEachMaster(ctx, do)
	case *redis.Client:
		return do(ctx, c)
	}
	panic("a client of another type")
}

// keysAt are all keys with a prefix.
func keysAt(ctx context.Context, client redis.UniversalClient, prefix string) (keys []string, err error) {
	found := make(chan string)
	done := make(chan error, 1)
	go func() {
		defer close(found)
		done <- every(ctx, client, func(ctx context.Context, node *redis.Client) error {
			all := node.Scan(ctx, 0, prefix+"*", 1000).Iterator()
			for all.Next(ctx) {
				found <- all.Val()
			}
			return all.Err()
		})
	}()
	for key := range found {
		keys = append(keys, key)
	}
	return keys, <-done
}

// lose removes all keys with a prefix.
func lose(ctx context.Context, client redis.UniversalClient, prefix string) error {
	keys, err := keysAt(ctx, client, prefix)
	for _, key := range keys {
		if err == nil {
			err = client.Del(ctx, key).Err()
		}
	}
	return err
}

// rulesOf are the defaults of a room.
func rulesOf(threshold int) driver.Rules {
	return driver.Rules{
		Threshold: threshold, Active: 10 * time.Minute, Seen: 10 * time.Minute, NoShow: 150 * time.Second,
		Tick: time.Second, Batch: 100, SweepEvery: 30 * time.Second, Settle: 70 * time.Second,
	}
}
