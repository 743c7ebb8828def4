package amqpbus_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/amqpbus"
	"github.com/millrace-go/millrace/fault"
)

// The broker is stopped in order, and killed, while two instances consume and a publisher
// publishes: no confirmed message is lost, and order per key holds. The test logs how long
// after the broker's return the first message arrived.
func TestRestartedBroker(t *testing.T) {
	t.Parallel()
	n := ownNode(t)
	for kind, actions := range map[string][]string{"quorum": {"restart", "crash"}, "classic": {"crash"}} {
		t.Run(kind, func(t *testing.T) {
			const keys, each = 20, 300
			b := onBroker(t, n.url)
			topic, group := unique("topic"), unique("group")
			query := "connect_timeout=2s&queue_type=" + kind
			first, second := b.open(t, amqpbus.Config{}, query), b.open(t, amqpbus.Config{}, query)
			declare(t, first, bus.Topic{Name: topic, Groups: []string{group}})
			h := newHistory()
			consume(t, first, h, "first", topic, group, 0)
			consume(t, second, h, "second", topic, group, 0)
			p := &producer{bus: first, topic: topic, keys: keys}
			var round atomic.Int32
			producing := make(chan struct{})
			go func() {
				defer close(producing)
				for n := 1; n <= each; n++ {
					p.publish(t, n, n)
					round.Store(int32(n))
				}
			}()
			for i, action := range actions {
				h.count(t, 30*time.Second, keys*each*(i+1)/4)
				n.do(t, action)
				back := time.Now()
				h.mu.Lock()
				handled := len(h.distinct)
				h.mu.Unlock()
				h.count(t, 30*time.Second, min(handled+1, keys*each))
				t.Logf("%s: the first message after it came %s after the broker was back, in round %d", action, time.Since(back).Round(time.Millisecond), round.Load())
			}
			select {
			case <-producing:
			case <-time.After(time.Minute):
				t.Fatal("the publisher does not get through")
			}
			h.count(t, 30*time.Second, keys*each)
			h.check(t, keys, each)
			t.Logf("%d publishes failed and were repeated, %d messages were handled again", p.failed, h.repeats())
			if p.failed == 0 {
				t.Error("no publish failed, so the restart proves nothing")
			}
		})
	}
}

// Both connections are cut in the middle, again and again.
func TestCutConnections(t *testing.T) {
	t.Parallel()
	const keys, each, cuts = 12, 150, 6
	b := rabbit(t)
	p := startProxy(t, b)
	topic, group := unique("topic"), unique("group")
	through := b.openAt(t, amqpbus.Config{}, p.Addr(), "")
	declare(t, through, bus.Topic{Name: topic, Groups: []string{group}})
	h := newHistory()
	consume(t, through, h, "one", topic, group, time.Millisecond)
	producing := make(chan struct{})
	source := &producer{bus: through, topic: topic, keys: keys}
	go func() {
		defer close(producing)
		source.publish(t, 1, each)
	}()
	for i := range cuts {
		h.count(t, 30*time.Second, keys*each*(i+1)/(cuts+2))
		p.Cut()
	}
	<-producing
	h.count(t, 30*time.Second, keys*each)
	h.check(t, keys, each)
	t.Logf("%d publishes failed and were repeated, %d messages were handled again", source.failed, h.repeats())
}

// A broker that accepts messages and does not answer must not block a caller for ever, and
// its silence is no confirmation.
func TestConfirmTimeout(t *testing.T) {
	t.Parallel()
	b := rabbit(t)
	p := startProxy(t, b)
	topic, group := unique("topic"), unique("group")
	through := b.openAt(t, amqpbus.Config{}, p.Addr(), "confirm_timeout=300ms&connect_timeout=1s")
	declare(t, through, bus.Topic{Name: topic, Groups: []string{group}})
	source := &producer{bus: through, topic: topic, keys: 1}
	source.publish(t, 1, 1)
	p.Stall(true)
	start := time.Now()
	err := through.Publisher().Publish(topic, keyed("k", 2))
	if !errors.Is(err, amqpbus.ErrUnconfirmed) || fault.Of(err) != fault.Infrastructure {
		t.Errorf("got %v (%s), want ErrUnconfirmed as infrastructure", err, fault.Of(err))
	}
	if took := time.Since(start); took < 300*time.Millisecond || took > 8*time.Second {
		t.Errorf("it took %s, want about 300ms", took)
	}
	p.Stall(false)
	source.publish(t, 2, 2)
}

// A broker that cannot be reached is an error within the connect timeout.
func TestUnreachableBroker(t *testing.T) {
	t.Parallel()
	b := rabbit(t)
	p := startProxy(t, b)
	through := b.openAt(t, amqpbus.Config{}, p.Addr(), "connect_timeout=3s")
	topic := unique("topic")
	declare(t, through, bus.Topic{Name: topic, Groups: []string{"g"}})
	p.Refuse(true)
	for range 2 {
		start := time.Now()
		err := through.Publisher().Publish(topic, keyed("k", 1))
		if err == nil || fault.Of(err) != fault.Infrastructure {
			t.Errorf("got %v (%s), want an infrastructure error", err, fault.Of(err))
		}
		if took := time.Since(start); took > 8*time.Second {
			t.Errorf("it took %s, want at most about 3s", took)
		}
	}
	if err := through.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{"h"}}); fault.Of(err) != fault.Infrastructure {
		t.Errorf("declare: got %v (%s), want an infrastructure error", err, fault.Of(err))
	}
}

// The broker closes the channel for a message that is too large. Other calls succeed, also
// those that shared the channel. The test does not run beside the tests that restart this node.
func TestTooLargeFailsAlone(t *testing.T) {
	b := onBroker(t, ownNode(t).url)
	opened := b.open(t, amqpbus.Config{}, "")
	topic, group := unique("topic"), unique("group")
	declare(t, opened, bus.Topic{Name: topic, Groups: []string{group}})
	h := newHistory()
	consume(t, opened, h, "one", topic, group, 0)
	const keys, each = 64, 50
	var callers sync.WaitGroup
	for k := range keys {
		callers.Go(func() {
			for n := 1; n <= each; n++ {
				assert.NoError(t, opened.Publisher().Publish(topic, keyed(keyName(k), n)), "a message beside one that is too large")
			}
		})
	}
	for n := range 40 {
		large := keyed("large", 1)
		large.Payload = make([]byte, []int{40_000, 300_000}[n%2]) // on a shared channel, and alone
		err := opened.Publisher().Publish(topic, large)
		var failed *bus.PublishError
		if !errors.As(err, &failed) || fault.Of(err) != fault.Permanent || !strings.Contains(err.Error(), "larger") {
			t.Errorf("a message that is too large: %v is %v, want permanent and that it is larger than the broker takes", err, fault.Of(err))
		}
	}
	callers.Wait()
	h.count(t, 30*time.Second, keys*each)
	h.check(t, keys, each)
	t.Logf("%d messages came twice", h.repeats())
}

// A queue that is deleted while it is consumed is created again, and receives the messages
// that are published from then on.
func TestDeletedQueueIsMadeAgain(t *testing.T) {
	t.Parallel()
	b := rabbit(t)
	opened := b.open(t, amqpbus.Config{}, "partitions=1")
	topic, group := unique("topic"), unique("group")
	declare(t, opened, bus.Topic{Name: topic, Groups: []string{group}})
	h := newHistory()
	consume(t, opened, h, "one", topic, group, 0)
	publish(t, opened, topic, keyed(keyName(0), 1))
	h.count(t, 10*time.Second, 1)
	b.do(t, func(ch *amqp.Channel) error {
		_, err := ch.QueueDelete(amqpbus.Queues(opened.Driver())[0], false, false, false)
		return err
	})
	for deadline := time.Now().Add(10 * time.Second); ; {
		err := opened.Publisher().Publish(topic, keyed(keyName(0), 2))
		if err == nil {
			break
		}
		if !errors.Is(err, amqpbus.ErrUnroutable) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	h.count(t, 10*time.Second, 2)
}
