package redisratelimit_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/ratelimit/ratelimittest"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
)

// moment is a clock that stands still, of a replaceable server.
type moment struct {
	mu      sync.Mutex
	now     time.Time
	servers int
}

func (m *moment) get() (server string, now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := sha1.Sum([]byte(fmt.Sprint(m.servers)))
	return hex.EncodeToString(id[:]), m.now.UnixMicro()
}

func (m *moment) move(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}

func (m *moment) restart(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.servers++
	return nil
}

// harness has two stores with one clock, each with its own pool. The scripts are the real ones,
// except for the time and the server's id.
func harness(t *testing.T, connect func(t testing.TB) redis.UniversalClient) ratelimittest.Harness {
	t.Helper()
	client := connect(t)
	m := &moment{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	n := name(t, client)
	s, peer := newStore(t, client, n), newStore(t, connect(t), n)
	redisratelimit.Clocked(s, m.get)
	redisratelimit.Clocked(peer, m.get)
	return ratelimittest.Harness{
		Store: s, Peer: peer, Move: m.move, Restart: m.restart,
		Lose: func(ctx context.Context) error {
			keys := append(redisratelimit.Keys(s, false), redisratelimit.Keys(s, true)...)
			return client.Del(ctx, keys...).Err()
		},
	}
}

func TestConformance(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ratelimittest.Run(t, func(t *testing.T) ratelimittest.Harness { return harness(t, connect) })
		})
	}
}

// TestNotApplicable: no case of the suite is n/a.
func TestNotApplicable(t *testing.T) {
	require.Empty(t, ratelimittest.Suite().NotApplicable(harness(t, servers["redis"])))
}
