package kafkabus_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
)

// throwOut makes the coordinator forget the members of a group.
func throwOut(c *kfake.Cluster, group string) *kfake.FaultHandle {
	return c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Group: group, TopLevel: true, Err: kerr.UnknownMemberID})
}

// silent checks that no message arrives for a while.
func silent(t *testing.T, ch <-chan *message.Message) {
	t.Helper()
	select {
	case m := <-ch:
		t.Fatalf("got %s", m.Payload)
	case <-time.After(300 * time.Millisecond):
	}
}

func TestWindowBoundsWhatIsOut(t *testing.T) {
	t.Parallel()
	c := fake(t)
	b := openBus(t, kafkabus.Config{Partitions: 1}, urlOf(c))
	topic := name("topic")
	for n := range 10 {
		publish(t, b, topic, keyed("k", strconv.Itoa(n)))
	}
	ch := subscribe(t, subscriber(t, b, name("group"), 4), topic)
	var out []*message.Message
	for range 4 {
		out = append(out, receive(t, ch))
	}
	silent(t, ch)
	out[2].Ack() // in any order
	expect(t, ch, "4", "5")
	capped := openBus(t, kafkabus.Config{}, urlOf(c)+"?window=2")
	ch = subscribe(t, subscriber(t, capped, name("group"), 4), topic)
	receive(t, ch)
	receive(t, ch)
	silent(t, ch)
}

// A nacked message is redelivered before the messages behind it.
func TestNackIsRedelivered(t *testing.T) {
	t.Parallel()
	c := fake(t)
	b := openBus(t, kafkabus.Config{Partitions: 1}, urlOf(c))
	topic := name("topic")
	for n := range 6 {
		publish(t, b, topic, keyed("k", strconv.Itoa(n)))
	}
	ch := subscribe(t, subscriber(t, b, name("group"), 3), topic)
	out := []*message.Message{receive(t, ch), receive(t, ch), receive(t, ch)}
	out[1].Nack()
	out[0].Nack()
	<-out[0].Context().Done()
	out[2].Ack()
	first, second := receive(t, ch), receive(t, ch)
	if got := string(first.Payload) + string(second.Payload); got != "01" && got != "10" {
		t.Errorf("got %s again, want 0 and 1", got)
	}
	first.Ack()
	second.Ack()
	expect(t, ch, "3", "4", "5")
}

// Partitions whose messages are not acknowledged leave room for the others.
func TestStuckPartitionLeavesRoom(t *testing.T) {
	t.Parallel()
	c := fake(t)
	b := openBus(t, kafkabus.Config{Partitions: 2}, urlOf(c))
	topic := name("topic")
	var stuck, free string // two keys of different partitions
	for k := range 10 {
		key := strconv.Itoa(k)
		publish(t, b, topic, keyed(key, "find the partitions"))
		if c.PartitionInfo(topic, 0).HighWatermark > 0 && stuck == "" {
			stuck = key
		} else if c.PartitionInfo(topic, 1).HighWatermark > 0 && free == "" {
			free = key
		}
	}
	ch := subscribe(t, subscriber(t, b, name("group"), 16), topic)
	for range 10 {
		receive(t, ch).Ack()
	}
	for range 30 {
		publish(t, b, topic, keyed(stuck, "stuck"))
	}
	for range 14 { // it takes what it may have: of 16 places the other keeps 2
		if m := receive(t, ch); string(m.Payload) != "stuck" {
			t.Fatalf("got %s", m.Payload)
		}
	}
	for n := range 100 {
		want := "free" + strconv.Itoa(n)
		publish(t, b, topic, keyed(free, want))
		expect(t, ch, want)
	}
}

// However fast the others are, an unacknowledged message stops its partition after span
// messages: a crash repeats no more than that.
func TestSpan(t *testing.T) {
	t.Parallel()
	const span = 25_000
	c := fake(t)
	b := openBus(t, kafkabus.Config{Partitions: 1}, urlOf(c))
	topic, group := name("topic"), name("group")
	for part := range slices.Chunk(batch(span+500, 0), 500) { // a call has 30 s, however busy the machine is
		publish(t, b, topic, part...)
	}
	ch := subscribe(t, subscriber(t, b, group, 100), topic)
	first := receive(t, ch)
	for range span - 1 {
		receive(t, ch).Ack()
	}
	silent(t, ch)
	first.Ack()
	for range 500 {
		receive(t, ch).Ack()
	}
}

// Brokers restart, leaders and coordinators move, connections break, and the coordinator
// removes members: every message is handled, and order per key holds.
func TestConsumeUnderFaults(t *testing.T) {
	t.Parallel()
	c := fake(t, kfake.NumBrokers(3))
	b := openBus(t, kafkabus.Config{Partitions: 6, Replication: 3, SessionTimeout: 6 * time.Second}, urlOf(c))
	topic, group := name("topic"), name("group")
	const keys, each = 12, 150
	l := newLedger(t)
	defer l.consume(b, group, topic, 256).stop()
	faults := []func(){
		c.ShufflePartitionLeaders, c.RehashCoordinators,
		func() { throwOut(c, group) },
		func() {
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: topic, Err: kerr.NotLeaderForPartition, Count: 3})
		},
		func() {
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Group: group, Err: kerr.CoordinatorLoadInProgress, Count: 2})
		},
		func() {
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Group: group, TopLevel: true, Err: kerr.NotCoordinator, Count: 2})
		},
		func() {
			c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
				return nil, net.ErrClosed, true
			})
		},
		func() {
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.JoinGroup}, Group: group, TopLevel: true, Err: kerr.RebalanceInProgress})
		},
	}
	total := 0
	for n := 1; n <= each; n++ {
		var batch []*message.Message
		for k := range keys {
			batch = append(batch, keyed(fmt.Sprint("key", k), strconv.Itoa(n)))
		}
		publish(t, b, topic, batch...)
		total += len(batch)
		if n%10 == 0 {
			faults[n/10%len(faults)]()
			l.await(total - 2*keys)
		}
	}
	repeats := l.await(total)
	t.Logf("%d messages, %d handled twice", total, repeats)
}

// events counts log records by level.
type events struct {
	slog.Handler
	mu   sync.Mutex
	n    map[slog.Level]int
	said []string
}

func (e *events) Handle(_ context.Context, r slog.Record) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.n[r.Level]++
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	e.said = append(e.said, text)
	return nil
}
func (e *events) WithAttrs([]slog.Attr) slog.Handler { return e }

func (e *events) await(t *testing.T, level slog.Level) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		e.mu.Lock()
		n := e.n[level]
		e.mu.Unlock()
		if n > 0 {
			return
		}
		require.Falsef(t, time.Now().After(deadline), "nothing was logged at level %s", level)
	}
}

// The only broker is down for a while. Publisher and subscriber continue on their own when
// it is back, nothing is lost, and each change is logged once.
func TestBrokerRestart(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), 0
	start := func() (*kfake.Cluster, error) {
		return kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port), kfake.DataDir(dir))
	}
	var c *kfake.Cluster
	var err error
	for range 50 {
		// Below the ports that connections get, so that it is free for the restart too.
		port = 18_000 + rand.IntN(3000)
		if c, err = start(); err == nil {
			break
		}
	}
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() }) // after the bus
	log := &events{Handler: slog.DiscardHandler, n: map[slog.Level]int{}}
	b := openBus(t, kafkabus.Config{Partitions: 1, Logger: slog.New(alwaysOn{log})}, urlOf(c))
	topic, group := name("topic"), name("group")
	publish(t, b, topic, keyed("k", "1"))
	ch := subscribe(t, subscriber(t, b, group, 10), topic)
	expect(t, ch, "1")

	c.Close()
	log.await(t, slog.LevelWarn)
	published := make(chan error, 1)
	go func() { published <- b.Publisher().Publish(topic, keyed("k", "2")) }()
	kafkabus.AwaitWaiting(t, b.Driver(), 1)
	if c, err = start(); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, <-published)
	m := receive(t, ch)
	if string(m.Payload) == "1" { // acknowledged, and not committed before
		m.Ack()
		m = receive(t, ch)
	}
	if string(m.Payload) != "2" {
		t.Errorf("got %s, want 2", m.Payload)
	}
	m.Ack()
	log.await(t, slog.LevelInfo)
	log.mu.Lock()
	defer log.mu.Unlock()
	// The first message may have been acknowledged and not committed before, which is logged, too.
	reading := slices.DeleteFunc(log.said, func(said string) bool { return strings.Contains(said, "acknowledgements could not be written") })
	if len(reading) != 2 || log.n[slog.LevelInfo] != 1 {
		t.Errorf("logged %q, want one warning and one all-clear", log.said)
	}
}

type alwaysOn struct{ *events }

func (alwaysOn) Enabled(context.Context, slog.Level) bool { return true }
func (a alwaysOn) WithAttrs([]slog.Attr) slog.Handler     { return a }

// Close does not wait for a missing cluster, and reports the commits it could not write.
func TestCloseWithoutBroker(t *testing.T) {
	t.Parallel()
	c := fake(t)
	b, err := bus.Open(t.Context(), urlOf(c), kafkabus.Scheme(kafkabus.Config{Logger: quiet, CommitInterval: time.Hour}))
	require.NoError(t, err)
	topic := name("topic")
	publish(t, b, topic, keyed("k", "1"))
	sub := subscriber(t, b, name("group"), 10)
	ch := subscribe(t, sub, topic)
	expect(t, ch, "1")
	c.Close()
	start := time.Now()
	err = errors.Join(sub.Close(), b.Close())
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("Close took %v", took)
	}
	t.Logf("Close returned %v", err)
	if err == nil || !strings.Contains(err.Error(), "delivered again") {
		t.Errorf("Close returned %v, want that an acknowledgement was not written", err)
	}
}
