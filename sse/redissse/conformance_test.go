package redissse_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sse/redissse"
	"github.com/millrace-go/millrace/sse/ssetest"
)

// TestConformance is three processes with a client each. The scripts are the real
// ones, except for the clock, which stands still between two steps.
func TestConformance(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind+" cap", func(t *testing.T) {
			t.Parallel()
			ssetest.RunCap(t, func(t *testing.T) ssetest.CapHarness {
				client := connect(t)
				prefix := redistest.Prefix(t, client)
				now := newClock()
				h := ssetest.CapHarness{Advance: now.advance}
				for range 3 {
					c := newCap(t, connect(t), prefix)
					redissse.Clocked(c, now.µs.Load)
					h.Peers = append(h.Peers, c)
				}
				h.Cap = h.Peers[0]
				return h
			})
		})
		t.Run(kind+" broker", func(t *testing.T) {
			t.Parallel()
			ssetest.RunBroker(t, func(t *testing.T) ssetest.BrokerHarness {
				cfg := brokerPrefix(t, connect(t))
				var wires wires
				h := ssetest.BrokerHarness{Cut: wires.cut}
				for range 3 {
					h.Peers = append(h.Peers, newBroker(t, wires.connect(t, kind), cfg))
				}
				h.Broker = h.Peers[0]
				return h
			})
		})
	}
}

// wires are the connections of some clients. A test can cut them.
type wires struct {
	mu  sync.Mutex
	all []net.Conn
}

func (w *wires) connect(t *testing.T, kind string) redis.UniversalClient {
	t.Helper()
	o := &redis.UniversalOptions{
		ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
		Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
			var d net.Dialer
			c, err := d.DialContext(ctx, network, address)
			if err == nil {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.all = append(w.all, c)
			}
			return c, err
		},
	}
	if o.IsClusterMode = kind == "cluster"; o.IsClusterMode {
		o.Addrs = strings.Split(servicetest.RedisCluster(t), ",")
	} else {
		one, err := redis.ParseURL(servicetest.Redis(t))
		require.NoError(t, err, "MILLRACE_REDIS_URL is malformed")
		o.Addrs, o.DB, o.Username, o.Password = []string{one.Addr}, one.DB, one.Username, one.Password
	}
	client := redis.NewUniversalClient(o)
	t.Cleanup(func() {
		if err := client.Close(); err != nil && !strings.Contains(err.Error(), "use of closed") {
			t.Errorf("close the client: %v", err)
		}
	})
	return client
}

// cut ends all present connections.
func (w *wires) cut(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.all {
		// Like a pulled plug, without a farewell. Some have ended already.
		_ = c.Close()
	}
	w.all = nil
	return nil
}
