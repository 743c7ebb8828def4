package natsbus_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/natsbus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/transporttest/natstest"
)

// cluster is a cluster of NATS servers, each in a process of its own.
type cluster struct {
	t       *testing.T
	servers []*process
	js      jetstream.JetStream
}

func startCluster(t *testing.T, size int) *cluster {
	t.Helper()
	c := &cluster{t: t}
	var routes []string
	for range size {
		routes = append(routes, strconv.Itoa(natstest.FreePort(t)))
	}
	for n := range size {
		mineFirst := append(slices.Clone(routes[n:]), routes[:n]...)
		p := newProcess(t, fmt.Sprint(envName, "=n", n), envRoutes+"="+strings.Join(mineFirst, " "))
		p.start()
		c.servers = append(c.servers, p)
	}
	conn, err := nats.Connect(strings.TrimSuffix(c.url(), "/"), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	c.js, err = jetstream.New(conn)
	require.NoError(t, err)
	until(t, "the cluster makes a stream on each server", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.js.CreateStream(ctx, jetstream.StreamConfig{Name: "probe", Replicas: size})
		return err == nil
	})
	return c
}

func (c *cluster) url() string {
	var hosts []string
	for _, p := range c.servers {
		hosts = append(hosts, p.address())
	}
	return "nats://" + strings.Join(hosts, ",") + "/"
}

// state is the replicas of a stream as its leader reports them, nil while it has no leader.
func (c *cluster) state(stream string) *jetstream.ClusterInfo {
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
	defer cancel()
	s, err := c.js.Stream(ctx, stream)
	if err != nil || s.CachedInfo().Cluster == nil || s.CachedInfo().Cluster.Leader == "" {
		return nil
	}
	return s.CachedInfo().Cluster
}

// leader waits for the server that leads a stream.
func (c *cluster) leader(stream string) *process {
	c.t.Helper()
	var at int
	until(c.t, "the stream has a leader", func() bool {
		s := c.state(stream)
		if s == nil {
			return false
		}
		_, err := fmt.Sscanf(s.Leader, "n%d", &at)
		return err == nil
	})
	return c.servers[at]
}

// whole waits until each replica of a stream has all that the leader has.
func (c *cluster) whole(stream string) {
	c.t.Helper()
	until(c.t, "all replicas are current", func() bool {
		s := c.state(stream)
		return s != nil && len(s.Replicas) == len(c.servers)-1 &&
			!slices.ContainsFunc(s.Replicas, func(p *jetstream.PeerInfo) bool { return !p.Current || p.Offline })
	})
}

// The server that leads the topic's stream is killed under two publishers, restarts, and
// then another leader steps down: no accepted message is lost, and order holds.
func TestClusterFailover(t *testing.T) {
	const stream = "millrace+topic"
	c := startCluster(t, 3)
	cfg, at := natsbus.Config{LeaseTTL: 2 * time.Second}, c.url()+"?replicas=3"
	x := startTraffic(t, open(t, cfg, at), open(t, cfg, at), open(t, cfg, at))
	x.handled(20)
	leader := c.leader(stream)
	leader.kill()
	x.handled(20)
	leader.start()
	c.whole(stream)
	_, err := c.js.Conn().Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil, 30*time.Second)
	require.NoError(t, err)
	x.handled(20)
	x.finish()
}

// A cluster that has too few servers for a topic's replicas is an outage: an absent server,
// or one that was never seen, may come.
func TestTooFewServers(t *testing.T) {
	b := open(t, natsbus.Config{}, natstest.StartCluster(t, 2)[0].ClientURL())
	err := b.Declare(t.Context(), bus.Topic{Name: "topic", Replication: 3})
	require.ErrorContains(t, err, "start the cluster's servers that are absent")
	require.Equal(t, fault.Infrastructure, fault.Of(err), "%v", err)
}
