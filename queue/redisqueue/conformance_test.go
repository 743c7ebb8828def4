package redisqueue_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/queuetest"
	"github.com/millrace-go/millrace/queue/redisqueue"
)

// harness is three processes with a client each. The scripts are the real ones,
// except for the clock, which stands still between two steps.
func harness(t *testing.T, connect func(t testing.TB) redis.UniversalClient) queuetest.Harness {
	t.Helper()
	client := connect(t)
	prefix := redistest.Prefix(t, client)
	var now atomic.Int64
	now.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMicro())
	var stores []driver.Store
	for range 3 {
		s := newStore(t, connect(t), prefix)
		redisqueue.Clocked(s, now.Load)
		stores = append(stores, s)
	}
	return queuetest.Harness{
		Store: stores[0], Peers: stores,
		Advance: func(d time.Duration) { now.Add(d.Microseconds()) },
		Lose:    func(ctx context.Context) error { return lose(ctx, client, prefix) },
		Skew:    func(d time.Duration) { redisqueue.Skew(stores[0], d) },
	}
}

func TestConformance(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			queuetest.Run(t, func(t *testing.T) queuetest.Harness { return harness(t, connect) })
		})
	}
}

// Nothing in the suite is n/a.
func TestNotApplicable(t *testing.T) {
	require.Empty(t, queuetest.Suite().NotApplicable(harness(t, servers["redis"])))
}
