package kafkabus_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/kafkabus"
)

// wire connects a process to its brokers until it is cut. For the brokers the process dies
// at that moment.
type wire struct {
	mu    sync.Mutex
	ended bool
	conns []net.Conn
}

func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		conn.Close()
		return nil, errors.New("the process has died")
	}
	w.conns = append(w.conns, conn)
	return conn, nil
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for _, conn := range w.conns {
		conn.Close()
	}
}

// crashing is a group on a topic of one partition. Its processes die one after the other,
// and restart under the same name.
type crashing struct{ url, topic, group string }

func newCrashing(t *testing.T, url string, messages int) crashing {
	t.Helper()
	g := crashing{url, name("topic"), name("group")}
	b := openBus(t, kafkabus.Config{}, url)
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: g.topic, Partitions: 1}))
	for n := range messages {
		publish(t, b, g.topic, keyed("k", strconv.Itoa(n)))
	}
	return g
}

// start starts a process.
func (g crashing) start(t *testing.T, cfg kafkabus.Config) (s driver.Source, die func()) {
	t.Helper()
	w := new(wire)
	cfg.Instance, cfg.Logger, cfg.Options = "pod-1", quiet, append(cfg.Options, kgo.Dialer(w.dial))
	b, err := bus.Open(t.Context(), g.url, kafkabus.Scheme(cfg))
	require.NoError(t, err)
	var closing sync.WaitGroup
	end := sync.OnceFunc(func() {
		closing.Go(func() {
			if s != nil {
				s.Close() //nolint:errcheck // it cannot commit when it has died
			}
			b.Close() //nolint:errcheck // as above
		})
	})
	t.Cleanup(func() { end(); closing.Wait() })
	s, err = b.Driver().Source(context.WithoutCancel(t.Context()), g.topic, g.group, 8)
	require.NoError(t, err)
	return s, func() { w.cut(); end() }
}

// next returns the next message of a source.
func next(t *testing.T, s driver.Source) driver.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	all, err := s.Fetch(ctx, 1)
	require.NoError(t, err)
	return all[0]
}

// client calls do with a client of the cluster.
func (g crashing) client(t *testing.T, do func(*kadm.Client)) {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(strings.Trim(strings.TrimPrefix(g.url, "kafka://"), "/"), ",")...))
	require.NoError(t, err)
	defer c.Close()
	do(kadm.NewClient(c))
}

// commit returns the group's commit of a partition.
func (g crashing) commit(t *testing.T, partition int32) (offset kadm.Offset) {
	t.Helper()
	g.client(t, func(c *kadm.Client) {
		all, err := c.FetchOffsets(t.Context(), g.group)
		require.NoError(t, err)
		at, _ := all.Lookup(g.topic, partition)
		offset = at.Offset
	})
	return offset
}
