package amqpbus_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
)

// history records the messages that the instances of a group have handled, by key.
type history struct {
	mu       sync.Mutex
	byKey    map[string][]int
	distinct map[string]struct{}
	by       map[string]int // handled by each instance
	more     chan struct{}  // closed and replaced by every message
}

func newHistory() *history {
	return &history{byKey: map[string][]int{}, distinct: map[string]struct{}{}, by: map[string]int{}, more: make(chan struct{})}
}

func (h *history) add(instance string, m *message.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key, n, _ := strings.Cut(string(m.Payload), "#")
	number, err := strconv.Atoi(n)
	if err != nil || key != event.Key(m) {
		panic(fmt.Sprintf("%s under key %s", m.Payload, event.Key(m)))
	}
	h.byKey[key] = append(h.byKey[key], number)
	h.distinct[string(m.Payload)] = struct{}{}
	h.by[instance]++
	close(h.more)
	h.more = make(chan struct{})
}

// until waits for a condition on the handled messages.
func (h *history) until(t testing.TB, within time.Duration, what string, done func(distinct int, by map[string]int) bool) {
	t.Helper()
	deadline := time.After(within)
	for {
		h.mu.Lock()
		ok, n, more := done(len(h.distinct), h.by), len(h.distinct), h.more
		h.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("%s did not come true within %s: %d distinct messages were handled, %v", what, within, n, h.instances())
		}
	}
}

func (h *history) count(t testing.TB, within time.Duration, n int) {
	t.Helper()
	h.until(t, within, fmt.Sprintf("%d messages", n), func(distinct int, _ map[string]int) bool { return distinct >= n })
}

func (h *history) instances() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	by := map[string]int{}
	for k, v := range h.by {
		by[k] = v
	}
	return by
}

// check wants every message of every key, each at least once and first in order: only
// messages that were delivered before may be repeated, and a repetition continues in order
// from its beginning, so that no message is ever overtaken.
func (h *history) check(t testing.TB, keys, each int) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for k := range keys {
		key, last, high := keyName(k), 0, 0
		for _, n := range h.byKey[key] {
			if n > last+1 {
				t.Errorf("%s: %d came after %d: %v", key, n, last, h.byKey[key])
				break
			}
			last, high = n, max(high, n)
		}
		assert.Equalf(t, each, high, "%s: the last was %d of %d", key, high, each)
	}
}

// repeats returns how many messages were handled more than once.
func (h *history) repeats() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := -len(h.distinct)
	for _, all := range h.byKey {
		n += len(all)
	}
	return n
}

// consuming is an instance of a group at work.
type consuming struct {
	sub  message.Subscriber
	done chan struct{}
}

// consume makes a bus handle a topic, one message per key at a time.
func consume(t testing.TB, b *bus.Bus, h *history, instance, topic, group string, work time.Duration) *consuming {
	t.Helper()
	sub, err := b.Subscriber(group, bus.SubscriberConfig{Concurrency: 16, DrainTimeout: 10 * time.Second})
	require.NoError(t, err)
	ch, err := sub.Subscribe(t.Context(), topic)
	require.NoError(t, err)
	c := &consuming{sub, make(chan struct{})}
	go func() {
		defer close(c.done)
		var handlers sync.WaitGroup
		for m := range ch {
			handlers.Go(func() {
				if work > 0 {
					select {
					case <-time.After(work):
					case <-m.Context().Done():
						m.Nack() // its queue was lost
						return
					}
				}
				h.add(instance, m)
				m.Ack()
			})
		}
		handlers.Wait()
	}()
	t.Cleanup(func() { c.stop(t) })
	return c
}

func (c *consuming) stop(t testing.TB) {
	t.Helper()
	assert.NoError(t, c.sub.Close(), "close the subscriber")
	<-c.done
}

// producer publishes rounds of all keys, again if the broker did not confirm, as an outbox does.
type producer struct {
	bus    *bus.Bus
	topic  string
	keys   int
	failed int
}

func (p *producer) publish(t testing.TB, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		var round []*message.Message
		for k := range p.keys {
			round = append(round, keyed(keyName(k), n))
		}
		deadline := time.Now().Add(time.Minute)
		for {
			err := p.bus.Publisher().Publish(p.topic, round...)
			if err == nil {
				break
			}
			p.failed++
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
	}
}

func sorted(m map[string]int) []string {
	var all []string
	for k, v := range m {
		all = append(all, fmt.Sprintf("%s: %d", k, v))
	}
	slices.Sort(all)
	return all
}
