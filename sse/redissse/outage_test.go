package redissse_test

import (
	"fmt"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/tcpproxy/proxytest"
	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/redissse"
)

// loses calls do, which loses messages, and expects the listener to be told of the
// loss, and then to hear again.
func (h *heard) loses(b driver.Broker, why string, do func()) {
	h.t.Helper()
	do()
	wait(h.t, "down after "+why, h.downs)
	wait(h.t, "up after "+why, h.ups)
	for i := range 64 { // of all channels
		to := fmt.Sprint(why, " ", i)
		redistest.Eventually(h.t, "a call succeeds after "+why, func() error {
			return b.Publish(h.t.Context(), driver.Message{Kind: driver.Mute, To: to})
		})
		if m := wait(h.t, "message after "+why, h.messages); m.To != to {
			h.t.Errorf("after %s: heard %+v, want %s", why, m, to)
		}
	}
	if len(h.downs) != 0 || len(h.ups) != 0 {
		h.t.Errorf("after %s: %d more downs and %d ups", why, len(h.downs), len(h.ups))
	}
}

// TestReconnects loses connections in all ways: each time the loss is reported, and
// later messages are heard.
func TestReconnects(t *testing.T) {
	t.Parallel()
	s := redistest.StartServer(t)
	admin := open(t, s.URL())
	b := newBroker(t, admin, redissse.Config{})
	h := listen(t, b)
	h.loses(b, "its connection is killed", func() {
		if n, err := admin.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Result(); err != nil || n != 1 {
			t.Fatalf("%d connections were killed, %v", n, err)
		}
	})
	h.loses(b, "a restart", func() {
		s.Kill()
		if err := b.Publish(t.Context(), driver.Message{Kind: driver.Mute, To: "nobody"}); fault.Of(err) != fault.Infrastructure {
			t.Errorf("published to nothing: %v", err)
		}
		s.Start()
	})
}

// TestSilence makes a server hang without ending connections.
func TestSilence(t *testing.T) {
	t.Parallel()
	s := redistest.StartServer(t)
	proxy := proxytest.Start(t, s.Address)
	u := url.URL{Scheme: "redis", Host: proxy.Addr()}
	h := listen(t, newBroker(t, open(t, u.String()), redissse.Config{Silence: 200 * time.Millisecond}))
	b := newBroker(t, open(t, s.URL()), redissse.Config{})
	proxy.Stall(true)
	wait(t, "down", h.downs)
	proxy.Stall(false)
	wait(t, "up", h.ups)
	publish(t, b, driver.Message{Kind: driver.Mute, To: "m"})
	wait(t, "message", h.messages)
}

// TestMovedSlot moves the slot of a channel to another node of a Cluster.
func TestMovedSlot(t *testing.T) {
	t.Parallel()
	from, to := redistest.StartServer(t, "--cluster-enabled", "yes"), redistest.StartServer(t, "--cluster-enabled", "yes")
	serveAll(t, from)
	source, target := open(t, from.URL()), open(t, to.URL())
	join(t, source, target, from)
	cluster := open(t, "redis://"+from.Address+","+to.Address)
	b := newBroker(t, cluster, redissse.Config{})
	h := listen(t, b)
	idOf := func(node redis.UniversalClient) string {
		t.Helper()
		id, err := node.Do(t.Context(), "CLUSTER", "MYID").Text()
		require.NoError(t, err)
		return id
	}
	id := idOf(target)
	slot, err := source.ClusterKeySlot(t.Context(), redissse.Channels(b)[0]).Result()
	require.NoError(t, err)
	h.loses(b, "its slot moved", func() {
		// Or the target believes the source's gossip, and returns the slot.
		require.NoError(t, target.Do(t.Context(), "CLUSTER", "SETSLOT", strconv.FormatInt(slot, 10), "IMPORTING", idOf(source)).Err())
		for _, node := range []redis.UniversalClient{target, source} {
			require.NoError(t, node.Do(t.Context(), "CLUSTER", "SETSLOT", strconv.FormatInt(slot, 10), "NODE", id).Err())
		}
	})
	if n, err := target.PubSubShardNumSub(t.Context(), redissse.Channels(b)[0]).Result(); err != nil || n[redissse.Channels(b)[0]] != 1 {
		t.Errorf("the other node has %v, %v", n, err)
	}
}

// serveAll gives a node all slots.
func serveAll(t *testing.T, s *redistest.Server) {
	t.Helper()
	node := open(t, s.URL())
	require.NoError(t, node.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err())
	redistest.Eventually(t, "the cluster serves", func() error { return node.Set(t.Context(), "x", 1, time.Minute).Err() })
}

// join makes one Cluster of two nodes.
func join(t *testing.T, first, second redis.UniversalClient, at *redistest.Server) {
	t.Helper()
	u, err := url.Parse(at.URL())
	require.NoError(t, err)
	require.NoError(t, second.Do(t.Context(), "CLUSTER", "MEET", u.Hostname(), u.Port()).Err())
	for _, node := range []redis.UniversalClient{first, second} {
		redistest.Eventually(t, "the nodes know each other", func() error {
			info, err := node.ClusterInfo(t.Context()).Result()
			if err == nil && !contains(info, "cluster_state:ok", "cluster_known_nodes:2", "cluster_size:1") {
				err = fmt.Errorf("%s", info)
			}
			return err
		})
	}
}
