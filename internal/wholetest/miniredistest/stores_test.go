package miniredistest

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/coalesce/coalescetest"
	coalescedriver "github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/coalesce/rediscoalesce"
	"github.com/millrace-go/millrace/idempotency"
	idempotencydriver "github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/idempotencytest"
	"github.com/millrace-go/millrace/idempotency/redisidempotency"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/redisclient"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a Redis in this process, whose keys expire by the clock.
func start(t *testing.T) redis.UniversalClient {
	t.Helper()
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	require.NoError(t, m.Start())
	t.Cleanup(m.Close)
	// On a busy machine an answer may take long.
	client, err := redisclient.Open("redis://"+m.Addr(), redisclient.Config{Timeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, client.Close())
	})
	return client
}

// made is a store that its constructor must not refuse.
func made[S any](store S, err error) func(t *testing.T) S {
	return func(t *testing.T) S {
		t.Helper()
		require.NoError(t, err)
		return store
	}
}

func TestCoalescer(t *testing.T) {
	coalescetest.Run(t, func(t *testing.T) coalescetest.Harness {
		client := start(t)
		open := func() coalescedriver.Store { return made(rediscoalesce.New(client, rediscoalesce.Config{}))(t) }
		keys := func(id string) []string {
			return []string{"upd:{" + id + "}:lock", "upd:{" + id + "}:ver", "upd:{" + id + "}:again"}
		}
		return coalescetest.Harness{
			Store: open(), Peer: open(),
			Backdate: func(ctx context.Context, id string, by time.Duration) error {
				for _, key := range keys(id) {
					left, err := client.PTTL(ctx, key).Result()
					if err != nil {
						return err
					}
					if left < 0 {
						continue // there is no such key
					}
					if err := client.PExpire(ctx, key, left-by).Err(); err != nil { // which deletes one that is over
						return err
					}
				}
				return nil
			},
			Lose: func(ctx context.Context, id string) error { return client.Del(ctx, keys(id)...).Err() },
		}
	})
}

func TestIdempotency(t *testing.T) {
	idempotencytest.Run(t, func(t *testing.T) idempotencytest.Harness {
		client := start(t)
		open := func() idempotencydriver.Store {
			return made(redisidempotency.New(client, redisidempotency.Config{}))(t)
		}
		return idempotencytest.Harness{Store: open(), Peer: open(), Expires: true}
	})
}

func TestLayered(t *testing.T) {
	idempotencytest.Run(t, func(t *testing.T) idempotencytest.Harness {
		db := made(sqlitedb.Open(filepath.Join(t.TempDir(), "app.db"), sqlitedb.Config{}))(t)
		t.Cleanup(func() {
			assert.NoError(t, db.Close())
		})
		truth := made(sqlidempotency.New(db, sqlidempotency.Config{Dialect: sqltx.SQLite}))(t)
		require.NoError(t, truth.Migrate(t.Context()))
		fast := made(redisidempotency.New(start(t), redisidempotency.Config{}))(t)
		layered := made(idempotency.NewLayered(fast, truth, idempotency.LayeredConfig{Timeout: time.Minute}))(t)
		return idempotencytest.Harness{Store: layered, DB: db, Expires: true}
	})
}

func TestLeases(t *testing.T) {
	idempotencytest.RunLeases(t, func(t *testing.T) idempotencytest.LeaseHarness {
		client := start(t)
		open := func() idempotencydriver.LeaseStore {
			return made(redisidempotency.NewLeases(client, redisidempotency.Config{Prefix: "l:"}))(t)
		}
		return idempotencytest.LeaseHarness{
			Store: open(), Peer: open(), Expires: true,
			Backdate: func(ctx context.Context, key string, by time.Duration) error {
				until, err := client.HGet(ctx, "l:"+key, "until").Result()
				if err != nil {
					return err
				}
				us, err := strconv.ParseInt(until, 10, 64)
				if err != nil {
					return err
				}
				return client.HSet(ctx, "l:"+key, "until", us-by.Microseconds()).Err()
			},
		}
	})
}
