package scenarios

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
)

// ownCluster is a Redis Cluster of three nodes, for faults.
type ownCluster struct {
	t     testing.TB
	nodes []*redistest.Server
}

func startCluster(t testing.TB) *ownCluster {
	t.Helper()
	c := &ownCluster{t: t}
	var clients []redis.UniversalClient
	for range 3 {
		s := redistest.StartServer(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--appendonly", "yes")
		c.nodes = append(c.nodes, s)
		clients = append(clients, openRedis(t, s.URL()))
	}
	for i, client := range clients {
		from, to := 16384*i/3, 16384*(i+1)/3-1
		require.NoError(t, client.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", from, to).Err())
		host, port, _ := strings.Cut(c.nodes[0].Address, ":")
		if i > 0 {
			require.NoError(t, client.Do(t.Context(), "CLUSTER", "MEET", host, port).Err())
		}
	}
	c.serves()
	return c
}

// serves waits until all nodes know of all slots.
func (c *ownCluster) serves() {
	c.t.Helper()
	for _, s := range c.nodes {
		client := openRedis(c.t, s.URL())
		redistest.Eventually(c.t, "the Cluster serves", func() error {
			info, err := client.ClusterInfo(context.WithoutCancel(c.t.Context())).Result()
			if err == nil && (!strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_known_nodes:3")) {
				err = fmt.Errorf("it does not: %s", info)
			}
			return err
		})
	}
}

func (c *ownCluster) url() string {
	var list []string
	for _, s := range c.nodes {
		list = append(list, s.Address)
	}
	return "redis://" + strings.Join(list, ",")
}

// kill ends all nodes as kill -9 does.
func (c *ownCluster) kill() {
	for _, s := range c.nodes {
		s.Kill()
	}
}

// start runs the nodes again, with their written data.
func (c *ownCluster) start() {
	for _, s := range c.nodes {
		s.Start()
	}
	c.serves()
}

// flush empties all nodes.
func (c *ownCluster) flush() {
	c.t.Helper()
	for _, s := range c.nodes {
		if err := openRedis(c.t, s.URL()).FlushAll(c.t.Context()).Err(); err != nil {
			c.t.Fatal(err)
		}
	}
}
