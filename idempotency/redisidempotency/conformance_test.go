package redisidempotency_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/idempotencytest"
	"github.com/millrace-go/millrace/idempotency/internal/leasemodel"
	"github.com/millrace-go/millrace/idempotency/redisidempotency"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// TestMain: a pool whose server was unreachable dials it every second, and only then notices
// that the pool is closed.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// servers opens a client of each kind of Redis.
var servers = map[string]func(t testing.TB) redis.UniversalClient{
	"redis": func(t testing.TB) redis.UniversalClient { t.Helper(); return open(t, servicetest.Redis(t)) },
	"cluster": func(t testing.TB) redis.UniversalClient {
		t.Helper()
		return open(t, "redis://"+servicetest.RedisCluster(t))
	},
}

func open(t testing.TB, url string) redis.UniversalClient {
	t.Helper()
	client, err := redisdb.Open(url, redisdb.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

func eachServer(t *testing.T, run func(t *testing.T, client redis.UniversalClient)) {
	for name, connect := range servers {
		t.Run(name, func(t *testing.T) { run(t, connect(t)) })
	}
}

func newStore(t testing.TB, client redis.UniversalClient, cfg redisidempotency.Config) driver.KeyStore {
	t.Helper()
	s, err := redisidempotency.New(client, cfg)
	require.NoError(t, err)
	return s
}

func newLeases(t testing.TB, client redis.UniversalClient, cfg redisidempotency.Config) driver.LeaseStore {
	t.Helper()
	s, err := redisidempotency.NewLeases(client, cfg)
	require.NoError(t, err)
	return s
}

func TestConformance(t *testing.T) {
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		idempotencytest.Run(t, func(t *testing.T) idempotencytest.Harness { return harness(t, client) })
	})
}

func harness(t testing.TB, client redis.UniversalClient) idempotencytest.Harness {
	cfg := redisidempotency.Config{Prefix: redistest.Prefix(t, client)}
	return idempotencytest.Harness{Store: newStore(t, client, cfg), Peer: newStore(t, client, cfg), Expires: true}
}

// notApplicable lists the cases that Redis rules out, and the reason. No other case may be
// skipped unnoticed.
var notApplicable = map[conformance.Need][]string{
	idempotencytest.NeedDB: {"transaction-in-context", "outer-commit", "outer-rollback", "cancelled-in-handler"},
	idempotencytest.NeedBatch: {"batch-picks-the-new", "batch-all-or-nothing", "batch-odd-keys", "batch-large", "batch-takeover",
		"batch-storm", "fresh-needs-a-transaction", "fresh-in-a-handler", "fresh-in-a-transaction"},
	idempotencytest.NeedPrune: {"prune-keeps-newer", "prune-in-chunks"},
}

func TestNotApplicable(t *testing.T) {
	h := harness(t, open(t, servicetest.Redis(t)))
	got := map[conformance.Need][]string{}
	suite := idempotencytest.Suite()
	for _, c := range suite.Cases {
		if missing := suite.Missing(c, h); missing != "" {
			got[missing] = append(got[missing], c.Name)
		}
	}
	for need, names := range notApplicable {
		if !slices.Equal(got[need], names) {
			t.Errorf("n/a because %s: %v, listed: %v", need, got[need], names)
		}
	}
	assert.Lenf(t, got, len(notApplicable), "n/a: %v, listed: %v", got, notApplicable)
}

func TestLeaseConformance(t *testing.T) {
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		idempotencytest.RunLeases(t, func(t *testing.T) idempotencytest.LeaseHarness {
			cfg := redisidempotency.Config{Prefix: redistest.Prefix(t, client)}
			return idempotencytest.LeaseHarness{
				Store: newLeases(t, client, cfg), Peer: newLeases(t, client, cfg), Expires: true,
				Backdate: backdate(client, cfg.Prefix),
			}
		})
	})
}

func backdate(client redis.UniversalClient, prefix string) func(context.Context, string, time.Duration) error {
	return func(ctx context.Context, key string, by time.Duration) error {
		until, err := client.HGet(ctx, prefix+key, "until").Result()
		if err != nil {
			return err
		}
		us, err := strconv.ParseInt(until, 10, 64)
		if err != nil {
			return err
		}
		return client.HSet(ctx, prefix+key, "until", us-by.Microseconds()).Err()
	}
}

func TestLeaseModel(t *testing.T) {
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		leasemodel.Check(t, func(t testing.TB) (driver.LeaseStore, leasemodel.Backdate) {
			cfg := redisidempotency.Config{Prefix: redistest.Prefix(t, client)}
			return newLeases(t, client, cfg), backdate(client, cfg.Prefix)
		})
	})
}
