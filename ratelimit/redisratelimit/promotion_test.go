package redisratelimit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/ratelimit"
)

// TestPromotion promotes a replica that has not received the last grants.
func TestPromotion(t *testing.T) {
	for mode, m := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel() // a window takes a second
			old, next := redistest.StartServer(t, "--repl-diskless-sync-delay", "0"), redistest.StartServer(t)
			master, replica := open(t, old.URL()), open(t, next.URL())
			host, port, _ := strings.Cut(old.Address, ":")
			require.NoError(t, replica.SlaveOf(t.Context(), host, port).Err())
			u := &usage{t: t, plan: planOfLimits(t, m.limits)}
			before := newStore(t, master, "rate")
			redistest.Eventually(t, "replication", func() error { return linked(t, replica) })
			u.must(before) // begins to fill
			replicated(t, master)
			value, err := master.Get(t.Context(), m.key).Bytes()
			require.NoError(t, err)
			// The replica has not received the master's grants from now on.
			require.NoError(t, replica.SlaveOf(t.Context(), "NO", "ONE").Err())
			u.gain(before)
			old.Kill()
			// The replicated state exists, and is not used.
			if got, err := replica.Get(t.Context(), m.key).Bytes(); err != nil || string(got) != string(value) {
				t.Fatalf("the replica has %x, %v; want %x", got, err, value)
			}
			after := newStore(t, replica, "rate")
			assert.Equal(t, 0, u.must(after), "were granted at once by the replica")
			u.gain(after)
			u.check()
		})
	}
}

// TestClusterPromotion: a replica of a Cluster takes the slots of its stopped master; the
// client of the Cluster finds it.
func TestClusterPromotion(t *testing.T) {
	options := []string{"--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--repl-diskless-sync-delay", "0"}
	old, next := redistest.StartServer(t, options...), redistest.StartServer(t, options...)
	master, replica := open(t, old.URL()), open(t, next.URL())
	host, port, _ := strings.Cut(old.Address, ":")
	id, err := master.Do(t.Context(), "CLUSTER", "MYID").Text()
	require.NoError(t, err)
	for _, err := range []error{
		master.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err(),
		replica.Do(t.Context(), "CLUSTER", "MEET", host, port).Err(),
	} {
		require.NoError(t, err)
	}
	redistest.Eventually(t, "the nodes know each other", func() error { return replica.Do(t.Context(), "CLUSTER", "REPLICATE", id).Err() })
	redistest.Eventually(t, "replication", func() error { return linked(t, replica) })

	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{old.Address, next.Address}, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
		ClusterStateReloadInterval: 50 * time.Millisecond,
		PoolSize:                   10_000, // after so many failures the pool itself dials for ever
	})
	t.Cleanup(func() { client.Close() })
	cluster := newStore(t, client, "rate")
	u := &usage{t: t, plan: planOfLimits(t, ratelimit.Limits{HardLimit: 2000, Rate: 1000, Burst: 50})}
	u.must(cluster)
	u.gain(cluster)
	replicated(t, master)
	old.Kill()
	require.NoError(t, replica.Do(t.Context(), "CLUSTER", "FAILOVER", "TAKEOVER").Err())
	assert.Equal(t, 0, u.must(newStore(t, replica, "rate")), "were granted at once by the replica")
	u.gain(cluster)
	u.check()
}

// linked returns an error if a replica is not in sync with its master.
func linked(t *testing.T, replica redis.UniversalClient) error {
	info, err := replica.Info(t.Context(), "replication").Result()
	if err == nil && !strings.Contains(info, "master_link_status:up") {
		err = fmt.Errorf("not linked: %s", info)
	}
	return err
}

// replicated waits until the replica has all writes.
func replicated(t *testing.T, master redis.UniversalClient) {
	t.Helper()
	n, err := master.Do(t.Context(), "WAIT", 1, 0).Int()
	if err != nil || n != 1 {
		t.Fatalf("%d replicas have all: %v", n, err)
	}
}
