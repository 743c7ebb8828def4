package amqpbus_test

import (
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/amqpbus"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

// Three instances come one after the other, share the queues, and leave again while
// messages flow. Order per key holds over every hand-over, and nothing is handled twice,
// because an instance finishes its messages in flight before it releases a queue.
func TestInstancesShareAndHandOver(t *testing.T) {
	for _, kind := range []string{"quorum", "classic"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			const keys = 24
			b := rabbit(t)
			topic, group := unique("topic"), unique("group")
			open := func() *bus.Bus {
				return b.open(t, amqpbus.Config{Rebalance: 100 * time.Millisecond}, "partitions=6&queue_type="+kind)
			}
			first, second, third := open(), open(), open()
			declare(t, first, bus.Topic{Name: topic, Groups: []string{group}})
			h := newHistory()
			enough, rounds := make(chan struct{}), make(chan int, 1)
			go func() {
				p := &producer{bus: first, topic: topic, keys: keys}
				for n := 1; ; n++ {
					p.publish(t, n, n)
					select {
					case <-enough:
						rounds <- n
						return
					default:
					}
				}
			}()
			consume(t, first, h, "first", topic, group, time.Millisecond)
			h.count(t, 20*time.Second, keys)
			two := consume(t, second, h, "second", topic, group, time.Millisecond)
			consume(t, third, h, "third", topic, group, time.Millisecond)
			h.until(t, 20*time.Second, "all three take part", func(_ int, by map[string]int) bool {
				return by["second"] > 0 && by["third"] > 0
			})
			two.stop(t)
			close(enough)
			each := <-rounds
			h.count(t, 20*time.Second, keys*each)
			h.check(t, keys, each)
			if n := h.repeats(); n > 0 {
				t.Errorf("%d messages were handled twice though nobody crashed", n)
			}
			t.Log(sorted(h.instances()))
		})
	}
}

// Unacknowledged messages of a crashed consumer go to the next one before all others, in
// order, also when that consumer crashes too. With quorum queues this holds because all
// have the same prefetch.
func TestOrderAfterCrashesInARow(t *testing.T) {
	for _, kind := range []string{"quorum", "classic"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			const messages = 60
			b := rabbit(t)
			topic, group := unique("topic"), unique("group")
			query := "partitions=1&prefetch=16&queue_type=" + kind
			publisher := b.open(t, amqpbus.Config{}, query)
			declare(t, publisher, bus.Topic{Name: topic, Groups: []string{group}})
			for n := 1; n <= messages; n++ {
				publish(t, publisher, topic, keyed(keyName(0), n))
			}
			h := newHistory()
			// Each consumer receives a part, acknowledges less of it, and is cut off.
			for i, part := range []int{16, 5, 1, 16} {
				p := startProxy(t, b)
				crashing := b.openAt(t, amqpbus.Config{}, p.Addr(), query)
				sub := sourcetest.Subscriber(crashing.Driver(), group, 64)
				ch, err := sub.Subscribe(t.Context(), topic)
				require.NoError(t, err)
				var last *message.Message
				for range part {
					if last = next(t, ch); i == 0 {
						h.add("crashing", last)
					}
				}
				p.Refuse(true)
				select {
				case <-last.Context().Done():
				case <-time.After(10 * time.Second):
					t.Fatal("the context of a message that the broker takes back goes on")
				}
				last.Ack() // too late: it must come again
				require.NoError(t, sub.Close())
			}
			consume(t, publisher, h, "last", topic, group, 0)
			h.count(t, 20*time.Second, messages)
			h.check(t, 1, messages)
			assert.Equal(t, 16, h.repeats(), "messages came again, want the 16 that the first")
		})
	}
}

// The broker drops nothing, however often it delivers.
func TestManyRedeliveries(t *testing.T) {
	for _, kind := range []string{"quorum", "classic"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := rabbit(t)
			opened := b.open(t, amqpbus.Config{}, "partitions=1&queue_type="+kind)
			topic, group := unique("topic"), unique("group")
			declare(t, opened, bus.Topic{Name: topic, Groups: []string{group}})
			publish(t, opened, topic, keyed(keyName(0), 1))
			for range 30 {
				sub := sourcetest.Subscriber(opened.Driver(), group, 1)
				ch, err := sub.Subscribe(t.Context(), topic)
				require.NoError(t, err)
				m := next(t, ch)
				require.Len(t, m.Metadata, 1, "the metadata")
				require.NoError(t, sub.Close())
			}
		})
	}
}

// next receives a message within a timeout.
func next(t testing.TB, ch <-chan *message.Message) *message.Message {
	t.Helper()
	select {
	case m, ok := <-ch:
		require.True(t, ok, "the channel was closed")
		return m
	case <-time.After(20 * time.Second):
		t.Fatal("no message came")
	}
	return nil
}

// A queue whose messages in flight do not end is not released: after a while its instance
// handles the other messages of the queue again, and does not try again at once.
func TestAQueueThatCannotBeReleasedGoesOn(t *testing.T) {
	t.Parallel()
	const keys = 8
	b := rabbit(t)
	topic, group := unique("topic"), unique("group")
	open := func() *bus.Bus { return b.open(t, amqpbus.Config{Rebalance: 50 * time.Millisecond}, "partitions=2") }
	first, second := open(), open()
	declare(t, first, bus.Topic{Name: topic, Groups: []string{group}})
	ch := sourcetest.Subscribe(t, first, group, topic, 100)
	round := func() (all []*message.Message) {
		for k := range keys {
			publish(t, first, topic, keyed(keyName(k), 1))
		}
		for range keys {
			all = append(all, next(t, ch))
		}
		return all
	}
	stuck := round() // of both queues
	sourcetest.Subscribe(t, second, group, topic, 100)
	for joined := time.Now(); time.Since(joined) < 2*time.Second; {
		for _, m := range round() {
			m.Ack()
		}
	}
	for _, m := range stuck {
		m.Ack()
	}
}
