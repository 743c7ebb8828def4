package redisqueue_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue/driver"
)

// TestClusterPromotion makes a replica of a Cluster take the slots of its master,
// which is gone; the client of the Cluster finds it, and the line is kept.
func TestClusterPromotion(t *testing.T) {
	t.Parallel()
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
	redistest.Eventually(t, "replication", func() error {
		info, err := replica.Info(t.Context(), "replication").Result()
		if err == nil && !strings.Contains(info, "master_link_status:up") {
			err = fmt.Errorf("not linked: %s", info)
		}
		return err
	})
	redistest.Eventually(t, "the cluster serves", func() error { return master.Set(t.Context(), "x", 1, 0).Err() })

	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{old.Address, next.Address}, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
		ClusterStateReloadInterval: 50 * time.Millisecond,
		PoolSize:                   10_000, // after so many failures the pool itself tries for ever
	})
	t.Cleanup(func() {
		assert.NoError(t, client.Close())
	})
	r := newRoom(t, client, "", 0)
	const n = 50
	for i := range n {
		r.check(fmt.Sprint("user", i))
	}
	before, err := r.store.Look(t.Context(), "e", r.rules, 0, 0)
	require.NoError(t, err)
	if replicas, err := master.Do(t.Context(), "WAIT", 1, 0).Int(); err != nil || replicas != 1 {
		t.Fatalf("%d replicas have all: %v", replicas, err)
	}
	old.Kill()
	require.NoError(t, replica.Do(t.Context(), "CLUSTER", "FAILOVER", "TAKEOVER").Err())
	redistest.Eventually(t, "the client finds the new master", func() error {
		_, err := r.store.Visit(t.Context(), "e", r.rules, driver.Beats{}, nil)
		return err
	})
	for i := range n {
		if o := r.check(fmt.Sprint("user", i)); o.Status != driver.Waiting || o.New || o.Ahead != i {
			t.Errorf("number %d is answered %+v after the promotion", i, o)
		}
	}
	after, err := r.store.Look(t.Context(), "e", r.rules, before.Epoch, before.Version)
	if err != nil || after.Epoch != before.Epoch || after.Waiting != n || !after.Full {
		t.Errorf("a look after the promotion sees %+v, %v", after.State, err)
	}
	r.rules.Threshold = n
	a := r.admit()
	for i, one := range a.Admitted {
		assert.Equalf(t, fmt.Sprint("user", i), one.User, "%s is admitted as number %d", one.User, i)
	}
	assert.Lenf(t, a.Admitted, n, "%d of %d are admitted", len(a.Admitted), n)
}
