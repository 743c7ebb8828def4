package redisbus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/tcpproxy/proxytest"
)

// traffic publishes numbered messages of several keys without end, each until it is
// accepted, and records the messages that a group handles.
type traffic struct {
	t      *testing.T
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	busy     int            // keys that are being published to
	sent     map[string]int // the last number that was accepted
	failures int
	got      map[string][]int
	repeats  int
	last     time.Time
}

func startTraffic(t *testing.T, from, to *bus.Bus, keys int) *traffic {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	x := &traffic{t: t, busy: keys, cancel: cancel, sent: map[string]int{}, got: map[string][]int{}}
	require.NoError(t, to.Declare(ctx, bus.Topic{Name: "topic", Groups: []string{"group"}}))
	for k := range keys {
		x.wg.Go(func() { x.publish(ctx, from, fmt.Sprint("key", k)) })
	}
	x.consume(to)
	return x
}

// publish ends between two messages: a message in flight is accepted first.
func (x *traffic) publish(ctx context.Context, b *bus.Bus, key string) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	defer func() {
		x.mu.Lock()
		x.busy--
		x.mu.Unlock()
	}()
	for n := 1; ctx.Err() == nil; n++ {
		for {
			err := b.Publisher().Publish("topic", keyed(key, fmt.Sprint(n)))
			if err == nil {
				break
			}
			if fault.Of(err) != fault.Infrastructure {
				x.t.Errorf("publishing: %v is %v, want infrastructure", err, fault.Of(err))
				return
			}
			x.mu.Lock()
			x.failures++
			x.mu.Unlock()
			select {
			case <-tick.C:
			case <-x.t.Context().Done():
				return
			}
		}
		x.mu.Lock()
		x.sent[key] = n
		x.mu.Unlock()
		<-tick.C
	}
}

func (x *traffic) consume(b *bus.Bus) {
	ch := subscribe(x.t, b, "group", "topic", 64)
	x.wg.Go(func() {
		for m := range ch {
			x.note(m)
			m.Ack()
		}
	})
}

func (x *traffic) note(m *message.Message) {
	key, n := event.Key(m), 0
	fmt.Sscan(string(m.Payload), &n)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.last = time.Now()
	if slices.Contains(x.got[key], n) {
		x.repeats++
		return
	}
	x.got[key] = append(x.got[key], n)
}

// handled is how many messages were handled.
func (x *traffic) handled() (n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, all := range x.got {
		n += len(all)
	}
	return n
}

// more waits until n more messages are handled.
func (x *traffic) more(n int) {
	x.t.Helper()
	want := x.handled() + n
	redistest.Until(x.t, fmt.Sprint(n, " more messages"), func() bool { return x.handled() >= want })
}

// recovered waits until a message published from now on is handled.
func (x *traffic) recovered() time.Duration {
	x.t.Helper()
	began := time.Now()
	x.mu.Lock()
	want := x.sent["key0"] + 2
	x.mu.Unlock()
	redistest.Until(x.t, "a new message", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return slices.Contains(x.got["key0"], want)
	})
	return time.Since(began)
}

// stop ends the publishing while the buses are still open.
func (x *traffic) stop() {
	x.t.Helper()
	x.cancel()
	redistest.Until(x.t, "what was being published is accepted", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.busy == 0
	})
}

// finish stops publishing and checks that all accepted messages are handled, the first time
// in order.
func (x *traffic) finish(buses ...*bus.Bus) {
	x.t.Helper()
	x.stop()
	redistest.Until(x.t, "everything is handled", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		for key, n := range x.sent {
			if len(x.got[key]) < n {
				return false
			}
		}
		return true
	})
	for _, b := range buses {
		if err := b.Close(); err != nil {
			x.t.Errorf("close: %v", err)
		}
	}
	x.wg.Wait()
	for key, all := range x.got {
		for i, n := range all {
			if n != i+1 {
				x.t.Fatalf("%s: message %d was handled as the %dth", key, n, i+1)
			}
		}
	}
	x.t.Logf("%d messages handled, %d repeats, %d failed publishes", x.handled(), x.repeats, x.failures)
}

// The server is killed and restarted, three times: no accepted message is lost, and order holds.
func TestServerKilled(t *testing.T) {
	s := startServer(t)
	from, to := open(t, redisbus.Config{}, s.URL()), open(t, redisbus.Config{}, s.URL())
	x := startTraffic(t, from, to, 4)
	for range 3 {
		x.more(100)
		s.restart()
		t.Logf("back after %v", x.recovered().Round(time.Millisecond))
	}
	x.finish(from, to)
}

func TestConnectionsCut(t *testing.T) {
	p := single(t)
	way := proxytest.Start(t, p.host())
	url := strings.Replace(p.url, p.host(), way.Addr(), 1)
	from, to := open(t, redisbus.Config{}, url), open(t, redisbus.Config{}, url)
	x := startTraffic(t, from, to, 4)
	for range 5 {
		x.more(50)
		way.Cut()
		t.Logf("back after %v", x.recovered().Round(time.Millisecond))
	}
	x.finish(from, to)
}

// A missing answer fails the call in time, and the call is not silently repeated.
func TestStalledServer(t *testing.T) {
	s := startServer(t)
	b := open(t, redisbus.Config{Partitions: 1}, s.URL())
	publish(t, b, "topic", keyed("k", "1"))
	s.Stop()
	began := time.Now()
	err := b.Publisher().Publish("topic", keyed("k", "2"))
	took := time.Since(began)
	s.Signal(syscall.SIGCONT)
	if err == nil || fault.Of(err) != fault.Infrastructure || took > 10*time.Second {
		t.Errorf("publishing to a stalled server: %v is %v after %s, want infrastructure", err, fault.Of(err), took)
	}
	// After resuming, it executes the commands that it had received before.
	publish(t, b, "topic", keyed("k", "3"))
	if n := s.client.XLen(t.Context(), "topic").Val(); n != 3 {
		t.Errorf("the stream has %d messages, want 3: each was sent once", n)
	}
}

// A server that has forgotten the scripts receives them again, also in the middle of a call
// for several partitions, and nothing is appended twice.
func TestForgottenScripts(t *testing.T) {
	s := startServer(t)
	b := open(t, redisbus.Config{Partitions: 3}, s.URL())
	ch := subscribe(t, b, "group", "topic", 100)
	for range 3 {
		require.NoError(t, s.client.ScriptFlush(t.Context()).Err())
		want := map[string]bool{}
		var messages []*message.Message
		for k := range 20 {
			m := keyed(fmt.Sprint("key", k), "x")
			messages, want[m.UUID] = append(messages, m), true
		}
		publish(t, b, "topic", messages...)
		for range messages {
			m := receive(t, ch)
			if !want[m.UUID] {
				t.Errorf("message %s came twice", m.UUID)
			}
			delete(want, m.UUID)
			m.Ack()
		}
	}
}

// FLUSHALL deletes all messages; running processes continue with new ones.
func TestFlushAll(t *testing.T) {
	s := startServer(t)
	cfg := redisbus.Config{LeaseTTL: 600 * time.Millisecond}
	from, to := open(t, cfg, s.URL()), open(t, cfg, s.URL())
	x := startTraffic(t, from, to, 4)
	x.more(100)
	require.NoError(t, s.client.FlushAll(t.Context()).Err())
	t.Logf("back after %v", x.recovered().Round(time.Millisecond))
	x.more(100)
	x.stop()
	// From another process, which knows only the state in Redis.
	other := open(t, cfg, s.URL())
	redistest.Until(t, "the topic and its group are known again, and all is done", func() bool {
		lags, err := other.Lag(t.Context())
		return err == nil && len(lags) == 1 && lags[0] == bus.Lag{Topic: "topic", Group: "group"}
	})
	for _, b := range []*bus.Bus{from, to} {
		assert.NoError(t, b.Close())
	}
	x.wg.Wait()
	for key, all := range x.got {
		assert.Truef(t, slices.IsSorted(all), "%s was handled in the order %v", key, all)
	}
}

// A single message is appended by plain commands, which must not create a lost stream
// again: the topic is lost with it.
func TestFlushAllBeforeOneMessage(t *testing.T) {
	s := startServer(t)
	b := open(t, redisbus.Config{Partitions: 1}, s.URL())
	publish(t, b, "topic", keyed("k", "1"))
	require.NoError(t, s.client.FlushAll(t.Context()).Err())
	publish(t, b, "topic", keyed("k", "2"))
	if n, err := s.client.XLen(t.Context(), "topic").Result(); err != nil || n != 1 {
		t.Errorf("the stream has %d messages (%v), want 1", n, err)
	}
	if known, err := s.client.HExists(t.Context(), "millrace:topics", "topic").Result(); err != nil || !known {
		t.Errorf("the topic is known: %v, %v", known, err)
	}
}

// Out of memory, a replica, a wrong password: outages, not faults of a message.
func TestErrorClasses(t *testing.T) {
	s := startServer(t)
	b := open(t, redisbus.Config{Partitions: 1}, s.URL())
	publish(t, b, "topic", keyed("k", "1"))
	set := func(name, value string) {
		t.Helper()
		require.NoError(t, s.client.ConfigSet(t.Context(), name, value).Err())
	}
	check := func(what string, topic string, want fault.Class) {
		t.Helper()
		for _, call := range [][]*message.Message{{keyed("k", "x"), keyed("k", "y")}, {keyed("k", "x")}} {
			if err := b.Publisher().Publish(topic, call...); err == nil || fault.Of(err) != want {
				t.Errorf("%s: %d messages: %v is %v, want %v", what, len(call), err, fault.Of(err), want)
			}
		}
	}
	set("maxmemory", "1")
	check("out of memory", "topic", fault.Infrastructure)
	set("maxmemory", "0")
	if n := s.client.XLen(t.Context(), "topic").Val(); n != 1 {
		t.Errorf("a refused call left %d messages behind", n-1)
	}
	require.NoError(t, s.client.ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
	check("a replica", "topic", fault.Infrastructure)
	require.NoError(t, s.client.ReplicaOf(t.Context(), "NO", "ONE").Err())
	require.NoError(t, s.client.Set(t.Context(), "string", "x", 0).Err())
	check("a key that is no stream", "string", fault.Permanent)
	check("a name with a brace", "a{b", fault.Permanent)

	publish(t, b, "topic", keyed("k", "2"))
	require.NoError(t, b.Close())
	assert.ErrorIs(t, b.Driver().Publisher().Publish("topic", keyed("k", "3")), bus.ErrClosed, "after Close")
	if _, err := b.Driver().Source(t.Context(), "topic", "group", 1); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("a source after Close: %v, want %v", err, bus.ErrClosed)
	}
}
