package kafkabus_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/event"
)

// ledger records the messages that all members of a group handled.
type ledger struct {
	t  *testing.T
	mu sync.Mutex

	last    map[string]int  // the last number handled of each key
	busy    map[string]bool // keys being handled now
	repeats int
	total   int
	more    chan struct{} // capacity 1
}

func newLedger(t *testing.T) *ledger {
	return &ledger{t: t, last: map[string]int{}, busy: map[string]bool{}, more: make(chan struct{}, 1)}
}

// begin notes that handling of a message begins.
func (l *ledger) begin(m *message.Message) {
	key := event.Key(m)
	n, err := strconv.Atoi(string(m.Payload))
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		l.t.Error(err)
	case l.busy[key]:
		l.t.Errorf("key %s is handled by two at once", key)
	case n > l.last[key]+1:
		l.t.Errorf("key %s: %d is handled after %d", key, n, l.last[key])
	case n <= l.last[key]:
		l.repeats++
	}
	l.busy[key] = true
}

func (l *ledger) end(m *message.Message) {
	key := event.Key(m)
	n, _ := strconv.Atoi(string(m.Payload))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy[key] = false
	if n == l.last[key]+1 {
		l.last[key] = n
		l.total++
	}
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// await waits until n different messages were handled.
func (l *ledger) await(n int) (repeats int) {
	l.t.Helper()
	deadline := time.After(60 * time.Second)
	for {
		l.mu.Lock()
		have, repeats := l.total, l.repeats
		state := fmt.Sprint(l.last)
		l.mu.Unlock()
		if have >= n {
			return repeats
		}
		select {
		case <-l.more:
		case <-deadline:
			l.t.Fatalf("%d of %d messages were handled: %s", have, n, state)
		}
	}
}

// member is one instance of a group.
type member struct {
	handled atomic.Int64
	stop    func()
}

// consume runs a slow member of the group, until it is stopped.
func (l *ledger) consume(b *bus.Bus, group, topic string, window int) *member {
	l.t.Helper()
	sub, err := b.Subscriber(group, bus.SubscriberConfig{Concurrency: 8, Window: window, DrainTimeout: 20 * time.Second})
	if err != nil {
		l.t.Fatal(err)
	}
	ch, err := sub.Subscribe(context.WithoutCancel(l.t.Context()), topic)
	if err != nil {
		l.t.Fatal(err)
	}
	var wg sync.WaitGroup
	self := &member{}
	wg.Go(func() {
		for m := range ch {
			wg.Go(func() {
				self.handled.Add(1)
				l.begin(m)
				time.Sleep(time.Duration(rand.IntN(4000)) * time.Microsecond)
				l.end(m)
				m.Ack()
			})
		}
	})
	self.stop = func() {
		l.t.Helper()
		if err := sub.Close(); err != nil {
			l.t.Errorf("close a member: %v", err)
		}
		wg.Wait()
	}
	return self
}

// share waits until each of the members has handled some messages more.
func (l *ledger) share(members []*member) {
	l.t.Helper()
	deadline := time.After(60 * time.Second)
	for _, m := range members {
		for from := m.handled.Load(); m.handled.Load() < from+50; {
			select {
			case <-l.more:
			case <-deadline:
				l.t.Fatal("a member of the group gets no messages")
			}
		}
	}
}

// publish publishes messages of so many keys until it is stopped; stop returns their number.
func (l *ledger) publish(to *bus.Bus, topic string, keys int) (stop func() int) {
	published, over := 0, make(chan struct{})
	var producing sync.WaitGroup
	producing.Go(func() {
		for n := 1; ; n++ {
			var batch []*message.Message
			for k := range keys {
				batch = append(batch, keyed(fmt.Sprint("key", k), strconv.Itoa(n)))
			}
			if err := to.Publisher().Publish(topic, batch...); err != nil {
				l.t.Error(err)
			}
			published += len(batch)
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	return func() int {
		close(over)
		producing.Wait()
		return published
	}
}

// Members of a group come and go while messages flow and handlers take time: nothing is
// lost, and each key is handled in order and by one member at a time. While members only
// join, nothing is handled twice; a member that leaves repeats at most its window.
func TestRebalanceWhileBusy(t *testing.T) {
	both(t, func(t *testing.T, url string) { rebalances(t, url) })
}

func rebalances(t *testing.T, url string) (group string) {
	const keys, window = 24, 64
	topic := name("topic")
	group = name("group")
	cfg := kafkabus.Config{Partitions: 6, SessionTimeout: 6 * time.Second}
	source := openBus(t, cfg, url)
	require.NoError(t, source.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}))
	l := newLedger(t)
	stopped := l.publish(source, topic, keys)
	var members []*member
	join := func() {
		members = append(members, l.consume(openBus(t, cfg, url), group, topic, window))
		l.share(members)
	}
	for range 3 {
		join()
	}
	l.mu.Lock()
	if l.repeats > 0 {
		t.Errorf("%d messages were handled twice while members only came", l.repeats)
	}
	l.mu.Unlock()
	leaves := 0
	for range 2 {
		members[0].stop()
		members = members[1:]
		leaves++
		l.share(members)
		join()
	}
	published := stopped()
	repeats := l.await(published)
	for _, m := range members {
		m.stop()
	}
	if repeats > leaves*window {
		t.Errorf("%d messages were handled twice over %d departures, want at most %d each", repeats, leaves, window)
	}
	t.Logf("%d messages, %d handled twice", published, repeats)
	return group
}

// A message that is not acknowledged holds its partition for HandOverTimeout; then its
// context ends, and the message goes to the other instance.
func TestHandOverTimeout(t *testing.T) {
	t.Parallel()
	c := fake(t)
	cfg := kafkabus.Config{Partitions: 2, HandOverTimeout: 2 * time.Second, SessionTimeout: 6 * time.Second}
	a, b := openBus(t, cfg, urlOf(c)), openBus(t, cfg, urlOf(c))
	topic, group := name("topic"), name("group")
	for k := range 8 { // on both partitions
		publish(t, a, topic, keyed(fmt.Sprint(k), fmt.Sprint(k)))
	}
	ch := subscribe(t, subscriber(t, a, group, 8), topic)
	out := map[string]*message.Message{}
	for range 8 {
		m := receive(t, ch)
		out[string(m.Payload)] = m
	}
	start := time.Now()
	other := subscribe(t, subscriber(t, b, group, 8), topic)
	m := receive(t, other)
	if took := time.Since(start); took < 2*time.Second || took > 12*time.Second {
		t.Errorf("handed over after %v, want a little more than 2s", took)
	}
	ended := 0
	for _, held := range out {
		if held.Context().Err() != nil {
			ended++
		}
	}
	if held := out[string(m.Payload)]; held.Context().Err() == nil || ended == 8 {
		t.Errorf("the contexts of %d of 8 messages have ended, that of the one handed over: %v", ended, held.Context().Err())
	}
}

// A member that the group has removed ends the contexts of its messages in flight, joins
// again, and continues at the group's offset.
func TestLostPartition(t *testing.T) {
	t.Parallel()
	c := fake(t)
	b := openBus(t, kafkabus.Config{SessionTimeout: 6 * time.Second}, urlOf(c))
	topic, group := name("topic"), name("group")
	publish(t, b, topic, keyed("k", "1"), keyed("k", "2"))
	ch := subscribe(t, subscriber(t, b, group, 8), topic)
	expect(t, ch, "1")
	held := receive(t, ch)
	throwOut(c, group)
	select {
	case <-held.Context().Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the context goes on after the partition was lost")
	}
	held.Ack() // void
	again := receive(t, ch)
	if string(again.Payload) == "1" { // not committed before
		again.Ack()
		again = receive(t, ch)
	}
	if string(again.Payload) != "2" {
		t.Errorf("got %s, want 2 again", again.Payload)
	}
	again.Ack()
	publish(t, b, topic, keyed("k", "3"))
	expect(t, ch, "3")
}

// Close commits acknowledged messages, hands over at once, and ends the contexts of the rest.
func TestCloseHandsOverAtOnce(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		cfg := kafkabus.Config{Partitions: 1, CommitInterval: time.Hour}
		a, b := openBus(t, cfg, url), openBus(t, cfg, url)
		topic, group := name("topic"), name("group")
		publish(t, a, topic, keyed("k", "1"), keyed("k", "2"), keyed("k", "3"))
		sub := subscriber(t, a, group, 2)
		ch := subscribe(t, sub, topic)
		expect(t, ch, "1")
		held := receive(t, ch)
		other := subscribe(t, subscriber(t, b, group, 2), topic)
		require.NoError(t, sub.Close())
		assert.Error(t, held.Context().Err(), "the context goes on after Close")
		start := time.Now()
		expect(t, other, "2", "3")
		if took := time.Since(start); took > 6*time.Second {
			t.Errorf("the other took over after %v", took)
		}
	})
}

// A process that keeps its name over a restart gets its partitions back, and no other
// process gets them in between.
func TestStaticInstance(t *testing.T) {
	t.Parallel()
	url := real(t)
	topic, group := name("topic"), name("group")
	cfg := func(instance string) kafkabus.Config {
		return kafkabus.Config{Partitions: 2, SessionTimeout: 20 * time.Second, Instance: instance}
	}
	stays := openBus(t, cfg("a"), url)
	staysCh := subscribe(t, subscriber(t, stays, group, 100), topic)
	// Each instance waits until it has one of the two partitions.
	both := func(other <-chan *message.Message) {
		t.Helper()
		got := map[string]bool{}
		for n, deadline := 0, time.After(30*time.Second); len(got) < 2; n++ {
			publish(t, stays, topic, keyed("x", "x"), keyed("y", "y"), keyed("z", "z"), keyed("w", "w"))
			for range 4 {
				select {
				case m := <-staysCh:
					got["stays"] = true
					m.Ack()
				case m := <-other:
					got["other"] = true
					m.Ack()
				case <-deadline:
					t.Fatal("the partitions were not shared")
				}
			}
		}
	}
	restarted := openBus(t, cfg("b"), url)
	reader := subscriber(t, restarted, group, 100)
	other := subscribe(t, reader, topic)
	both(other)
	const keys = 20
	send := func(payload string) {
		t.Helper()
		var batch []*message.Message
		for k := range keys {
			batch = append(batch, keyed(fmt.Sprint(k), payload))
		}
		publish(t, stays, topic, batch...)
	}
	send("before")
	mine := 0 // keys of the partition of the instance that stays
	for n, deadline := 0, time.After(30*time.Second); n < keys; {
		var m *message.Message
		own := 0
		select {
		case m = <-staysCh:
			own = 1
		case m = <-other:
		case <-deadline:
			t.Fatalf("%d of %d messages came", n, keys)
		}
		m.Ack()
		if string(m.Payload) == "before" { // not a message repeated since the rebalance
			n++
			mine += own
		}
	}
	if mine == 0 || mine == keys {
		t.Fatalf("the instance that stays got %d of %d messages, want those of its partition", mine, keys)
	}
	if err := errors.Join(reader.Close(), restarted.Close()); err != nil { // in this order, as a Bus does
		t.Fatal(err)
	}
	send("after")
	for range mine {
		expect(t, staysCh, "after")
	}
	select {
	case m := <-staysCh:
		t.Fatalf("the instance that stays got key %s of the other's partition", event.Key(m))
	case <-time.After(3 * time.Second):
	}
	start := time.Now()
	ch := subscribe(t, subscriber(t, openBus(t, cfg("b"), url), group, 100), topic)
	for range keys - mine {
		expect(t, ch, "after")
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the restarted instance went on after %v", took)
	}
}

// A member that leaves during a rebalance leaves without an error: the next owner of the
// partition gets the message again. Any other failure is reported.
func TestLeavingWhileTheGroupIsSharedOut(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  *kerr.Error
		told bool
	}{
		"generation": {kerr.IllegalGeneration, false}, "member": {kerr.UnknownMemberID, false}, "rebalance": {kerr.RebalanceInProgress, false},
		"forbidden": {kerr.TopicAuthorizationFailed, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := fake(t)
			b := openBus(t, kafkabus.Config{Partitions: 1, CommitInterval: time.Hour}, urlOf(c))
			publish(t, b, "topic", keyed("k", "1"))
			sub := subscriber(t, b, "group", 10)
			m := receive(t, subscribe(t, sub, "topic"))
			refused := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: tc.err, Count: -1})
			m.Ack()
			if err := sub.Close(); (err != nil) != tc.told {
				t.Errorf("%v", err)
			}
			refused.Remove()
			expect(t, subscribe(t, subscriber(t, b, "group", 10), "topic"), "1")
		})
	}
}
