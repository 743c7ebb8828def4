package redisbus_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/redistest"
)

// Messages of another process arrive by a wake-up, long before the next poll.
func TestOtherProcessWakes(t *testing.T) {
	t.Run("single", func(t *testing.T) { otherProcessWakes(t, single(t)) })
	t.Run("cluster", func(t *testing.T) { otherProcessWakes(t, cluster(t)) })
}

func otherProcessWakes(t *testing.T, p place) {
	cfg := redisbus.Config{PollInterval: time.Minute}
	from, to := open(t, cfg, p.url), open(t, cfg, p.url)
	ch := subscribe(t, to, "group", "topic", 10)
	publish(t, from, "topic", keyed("k", "0"))
	receive(t, ch).Ack()
	var sum time.Duration
	const rounds = 50
	for n := range rounds {
		// Keys of every partition, hence of every node. Without the wake-up no message
		// would arrive before receive times out.
		began := time.Now()
		publish(t, from, "topic", keyed(fmt.Sprint("k", n), "x"))
		receive(t, ch).Ack()
		sum += time.Since(began)
	}
	t.Logf("%v on average from Publish to the handler", sum/rounds)
}

func TestPartitionsCannotChange(t *testing.T) {
	p := single(t)
	b := open(t, redisbus.Config{Partitions: 4}, p.url)
	publish(t, b, "made", keyed("k", "1"))
	for _, tc := range []struct {
		topic      string
		partitions int
		ok         bool
	}{
		{"made", 0, true}, {"made", 4, true}, {"made", 5, false},
		{"declared", 7, true}, {"declared", 0, true}, {"declared", 4, false},
	} {
		err := b.Declare(t.Context(), bus.Topic{Name: tc.topic, Partitions: tc.partitions})
		assert.Equalf(t, tc.ok, (err == nil), "declare %s with %d partitions: %v, want ok", tc.topic, tc.partitions, err)
		if err != nil && (fault.Of(err) != fault.Permanent || !strings.Contains(err.Error(), tc.topic)) {
			t.Errorf("the error is %v (%v)", err, fault.Of(err))
		}
	}
	// Another process with another default uses the existing number of partitions.
	other := open(t, redisbus.Config{Partitions: 2}, p.url)
	publish(t, other, "made", keyed("k", "2"))
	if got, err := b.Browse(t.Context(), "made", 10); err != nil || len(got) != 2 {
		t.Errorf("browse found %d messages (%v), want 2", len(got), err)
	}
}

// The partitions of a topic are on several nodes, each together with its lease.
func TestPartitionsSpreadOverCluster(t *testing.T) {
	p := cluster(t)
	b := open(t, redisbus.Config{Partitions: 12}, p.url)
	ch := subscribe(t, b, "group", "topic", 10)
	publish(t, b, "topic", keyed("k", "1"))
	receive(t, ch).Ack()
	nodes := map[string]bool{}
	slot := func(key string) int64 {
		t.Helper()
		n, err := p.client.ClusterKeySlot(t.Context(), key).Result()
		require.NoError(t, err)
		return n
	}
	for n := range 12 {
		stream := p.stream("topic", fmt.Sprint(n))
		assert.Equalf(t, slot(p.prefix+"millrace:lease:"+stream+":group"), slot(stream), "the lease of %s is in another slot", stream)
		redistest.Until(t, "a lease of "+stream, func() bool {
			return p.client.Exists(t.Context(), p.prefix+"millrace:lease:"+stream+":group").Val() == 1
		})
		node, err := p.client.(*redis.ClusterClient).MasterForKey(t.Context(), stream)
		require.NoError(t, err)
		nodes[node.Options().Addr] = true
	}
	if len(nodes) < 2 {
		t.Errorf("all partitions are on %v", nodes)
	}
	assert.Equal(t, slot("millrace:lease:{topic}:group"), slot("topic"), "the lease of a topic with one partition is in another slot")
}

// silent is a connection whose server answers nothing more once its address is hung.
type silent struct {
	net.Conn
	hung *atomic.Value
}

func (c silent) Write(b []byte) (int, error) {
	if c.hung.Load() == c.RemoteAddr().String() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func TestAHungNodeStopsNoOthers(t *testing.T) {
	p := cluster(t)
	opts := *p.client.(*redis.ClusterClient).Options()
	opts.ReadTimeout = 10 * time.Second
	var hung atomic.Value
	opts.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return silent{conn, &hung}, err
	}
	client := redis.NewClusterClient(&opts)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	const partitions, ttl = 12, 600 * time.Millisecond
	b := open(t, redisbus.Config{Client: client, Partitions: partitions, LeaseTTL: ttl}, p.url)
	ch := subscribe(t, b, "group", "topic", 10)
	node := func(key string) string {
		master, err := client.MasterForKey(t.Context(), p.stream("topic", fmt.Sprint(log.LaneOf(key, partitions))))
		require.NoError(t, err)
		return master.Options().Addr
	}
	key := "0"
	for n := 0; node(key) == node("hangs"); n++ {
		key = fmt.Sprint(n)
	}
	for _, key := range []string{key, "hangs"} {
		publish(t, b, "topic", keyed(key, "x"))
		receive(t, ch).Ack()
	}
	hung.Store(node("hangs"))
	defer hung.Store("")
	for began := time.Now(); time.Since(began) < 5*ttl; {
		publish(t, b, "topic", keyed(key, "x"))
		select {
		case m := <-ch:
			m.Ack()
		case <-time.After(opts.ReadTimeout): // as long as a call to the other node takes
			t.Fatal("a message on another node does not come")
		}
	}
}

// Names with colons do not mix up two groups: each has what it started, and what it did.
func TestStartsOfNamesWithColons(t *testing.T) {
	t.Parallel()
	if one := redisbus.Starts("eu:orders", "mail"); one == redisbus.Starts("eu", "orders:mail") {
		t.Errorf("two groups share %s", one)
	}
}

// A full stream refuses messages while a group has not acknowledged, and drops only
// messages that all groups have.
func TestMaxLen(t *testing.T) {
	p := single(t)
	b := open(t, redisbus.Config{Partitions: 1}, p.url+"&maxlen=10")
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "topic", Groups: []string{"fast", "slow"}}))
	for n := range 10 {
		publish(t, b, "topic", keyed("k", fmt.Sprint(n)))
	}
	full := func() {
		t.Helper()
		err := b.Publisher().Publish("topic", keyed("k", "refused"))
		if !errors.Is(err, redisbus.ErrFull) || fault.Of(err) != fault.Infrastructure {
			t.Fatalf("publishing into a full stream: %v (%v)", err, fault.Of(err))
		}
	}
	full()
	fast := subscribe(t, b, "fast", "topic", 100)
	for range 10 {
		receive(t, fast).Ack()
	}
	stream := p.prefix + "topic"
	redistest.Until(t, "fast has done all", func() bool { return groupOf(t, p, stream, "fast").Lag == 0 })
	full()
	slow := subscribe(t, b, "slow", "topic", 100)
	for range 5 {
		receive(t, slow).Ack()
	}
	redistest.Until(t, "slow has done five", func() bool { return groupOf(t, p, stream, "slow").Lag == 5 })
	// The newest acknowledged message stays, so there is room for four.
	for n := 10; n < 14; n++ {
		publish(t, b, "topic", keyed("k", fmt.Sprint(n)))
	}
	full()
	for n := 5; n < 14; n++ {
		m := receive(t, slow)
		if string(m.Payload) != fmt.Sprint(n) {
			t.Fatalf("got %s, want %d", m.Payload, n)
		}
		m.Ack()
	}
}

// Publish returns when a replica has confirmed, and reports when none has.
func TestWait(t *testing.T) {
	s := startServer(t)
	b := open(t, redisbus.Config{Partitions: 2}, s.URL()+"?wait=1")
	err := b.Publisher().Publish("topic", keyed("a", "1"), keyed("b", "1"), keyed("c", "1"))
	if !errors.Is(err, redisbus.ErrNotReplicated) || fault.Of(err) != fault.Infrastructure {
		t.Errorf("publishing without a replica: %v (%v)", err, fault.Of(err))
	}
	replica := startServer(t, "--replicaof", strings.Replace(s.Address, ":", " ", 1))
	redistest.Until(t, "the replica follows", func() bool {
		return s.client.Wait(t.Context(), 1, time.Second).Val() == 1
	})
	const calls = 20
	late := 0 // a busy machine may take the replica's time
	for n := range calls {
		err := b.Publisher().Publish("topic", keyed("k", fmt.Sprint(n)))
		if errors.Is(err, redisbus.ErrNotReplicated) {
			late++
			continue
		}
		require.NoError(t, err)
		length := int64(0)
		for _, stream := range []string{"{topic:0}", "{topic:1}"} {
			length += replica.client.XLen(t.Context(), stream).Val()
		}
		require.Equalf(t, int64(3+n+1), length, "the replica has %d messages when Publish returns", length)
	}
	if late == calls {
		t.Error("the replica has never confirmed")
	}
}

// A large call is one round trip per some megabytes, and keeps its order.
func TestLargeCall(t *testing.T) {
	p := single(t)
	b := open(t, redisbus.Config{Partitions: 1}, p.url)
	const n = 2500
	var messages []*message.Message
	for i := range n {
		m := keyed("k", fmt.Sprint(i, strings.Repeat("x", 4000)))
		messages = append(messages, m)
	}
	publish(t, b, "topic", messages...)
	ch := subscribe(t, b, "group", "topic", 100)
	for i := range n {
		m := receive(t, ch)
		require.Equalf(t, messages[i].UUID, m.UUID, "message %d came as the %dth", i, i)
		m.Ack()
	}
}

// A full topic fails no call that publishes to another topic at the same moment: calls share
// round trips to Redis.
func TestAFullTopicLeavesOthersAlone(t *testing.T) {
	const bound, calls = 1000, 200
	p := single(t)
	b := open(t, redisbus.Config{Partitions: 1}, p.url+"&maxlen="+fmt.Sprint(bound))
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "full", Groups: []string{"slow"}}))
	var all []*message.Message
	for n := range bound {
		all = append(all, keyed("k", fmt.Sprint(n)))
	}
	publish(t, b, "full", all...)
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range calls {
				if err := b.Publisher().Publish("full", keyed("k", "refused")); !errors.Is(err, redisbus.ErrFull) || fault.Of(err) != fault.Infrastructure {
					t.Errorf("publishing into a full stream: %v (%v)", err, fault.Of(err))
				}
			}
		})
		work.Go(func() {
			for n := range calls {
				assert.NoError(t, b.Publisher().Publish("other", keyed("k", fmt.Sprint(n))), "publishing into another")
			}
		})
	}
	work.Wait()
	if n := p.client.XLen(t.Context(), p.prefix+"full").Val(); n != bound {
		t.Errorf("the full topic has %d messages, want %d", n, bound)
	}
}
