package amqpbus_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/amqpbus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

// waiting counts the messages in queues.
func (b *broker) waiting(t testing.TB, queues ...string) map[string]int {
	t.Helper()
	all := map[string]int{}
	b.do(t, func(ch *amqp.Channel) error {
		for _, name := range queues {
			q, err := ch.QueueDeclarePassive(name, true, false, false, false, nil)
			if err != nil {
				return err
			}
			all[name] = q.Messages
		}
		return nil
	})
	return all
}

func typed(kind, key string, n int) *message.Message {
	m := keyed(key, n)
	m.Metadata.Set("ce_type", kind)
	return m
}

// An undeclared topic is a mistake that Publish reports.
func TestUnroutable(t *testing.T) {
	t.Parallel()
	b := rabbit(t)
	opened := b.open(t, amqpbus.Config{}, "")
	topic := unique("topic")
	messages := []*message.Message{keyed("k", 1), keyed("j", 1)}
	for range 2 { // also on a channel that had it before
		err := opened.Publisher().Publish(topic, messages...)
		if !errors.Is(err, amqpbus.ErrUnroutable) || !strings.Contains(err.Error(), topic) || fault.Of(err) != fault.Transient {
			t.Fatalf("got %v (%s), want a transient ErrUnroutable that names %s", err, fault.Of(err), topic)
		}
		var failed *bus.PublishError
		if !errors.As(err, &failed) || !slices.Equal(failed.Outcomes, []driver.Outcome{driver.Refused, driver.Refused}) {
			t.Fatalf("got %v, want both messages refused", err)
		}
	}
	declare(t, opened, bus.Topic{Name: topic, Groups: []string{"g"}})
	publish(t, opened, topic, messages...)
}

// Calls that share a channel tell apart which messages the broker returned, and each that
// no group accepts is held once.
func TestReturnsOfCallsTogether(t *testing.T) {
	t.Parallel()
	b := rabbit(t)
	opened := b.open(t, amqpbus.Config{}, "partitions=1")
	routed, held, lost := unique("routed"), unique("held"), unique("lost")
	declare(t, opened, bus.Topic{Name: routed, Groups: []string{"g"}}, bus.Topic{Name: held})
	const callers, each = 24, 20
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for n := range each {
				m := keyed("k", n)
				m.UUID = "the same" // also equal messages of several calls
				topic := []string{routed, held, lost}[c%3]
				err := opened.Publisher().Publish(topic, m)
				if topic == lost {
					assert.ErrorIs(t, err, amqpbus.ErrUnroutable, "to a topic that is not declared:")
				} else if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	queues := b.waiting(t, routed+":g", held)
	if want := callers / 3 * each; queues[routed+":g"] != want || queues[held] != want {
		t.Errorf("got %v, want %d in each", queues, want)
	}
}

// A topic that is declared without groups holds its messages in a queue of its name, until
// a group is declared.
func TestHeldTopic(t *testing.T) {
	t.Parallel()
	b := rabbit(t)
	opened := b.open(t, amqpbus.Config{}, "")
	topic := unique("dlq")
	declare(t, opened, bus.Topic{Name: topic, Retention: time.Hour})
	publish(t, opened, topic, keyed("k", 1), keyed("j", 1))
	if got := b.waiting(t, topic); got[topic] != 2 {
		t.Fatalf("the queue %s holds %d messages, want 2", topic, got[topic])
	}
	// With a group, the group receives them; no unread queue fills up.
	declare(t, opened, bus.Topic{Name: topic, Groups: []string{"g"}})
	publish(t, opened, topic, keyed("k", 2))
	if got := b.waiting(t, topic); got[topic] != 2 {
		t.Fatalf("the queue %s holds %d messages, want 2", topic, got[topic])
	}
	found, err := opened.Browse(t.Context(), topic, 1)
	if err != nil || len(found) != 1 || string(found[0].Payload) != "j#1" {
		t.Fatalf("browse: %v, %v", found, err)
	}
	oldest, err := opened.Pending(t.Context(), topic, driver.RedriveGroup, 1)
	if err != nil || len(oldest) != 1 || string(oldest[0].Payload) != "k#1" {
		t.Fatalf("pending: %v, %v", oldest, err)
	}
	if _, err := opened.Pending(t.Context(), topic, "g", 1); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("pending of a group: %v, want ErrUnsupported", err)
	}
	lags, err := opened.Lag(t.Context())
	if err != nil || !slices.ContainsFunc(lags, func(l bus.Lag) bool {
		return l.Topic == topic && l.Group == driver.RedriveGroup && l.Messages == 2
	}) {
		t.Errorf("lag: %v, %v", lags, err)
	}
	sub, err := opened.Subscriber(driver.RedriveGroup, bus.SubscriberConfig{})
	require.NoError(t, err)
	ch, err := sub.Subscribe(t.Context(), topic)
	require.NoError(t, err)
	for range 2 {
		m := next(t, ch)
		if _, err := opened.Browse(t.Context(), topic, 1); !errors.Is(err, amqpbus.ErrBusy) {
			t.Errorf("browsing what is consumed: %v, want ErrBusy", err)
		}
		m.Ack()
	}
	require.NoError(t, sub.Close())
	if got := b.waiting(t, topic); got[topic] != 0 {
		t.Errorf("the queue %s holds %d messages, want none", topic, got[topic])
	}
}

// The topic that is named like the exchange has plain queues: named like the
// group, bound by event type, with dead letters in a plain queue as well.
func TestPlainQueues(t *testing.T) {
	t.Parallel()
	b := rabbit(t)
	chat, notify, dead := unique("chat_persist_queue"), unique("notification_queue"), unique("notification_dlq")
	opened := b.open(t, amqpbus.Config{Bindings: map[string][]string{
		chat: {"ChatMessageSent"}, notify: {"Followed", "com.example.Liked"},
	}}, "partitions=4")
	all := unique("audit")
	declare(t, opened,
		bus.Topic{Name: b.exchange, Groups: []string{chat, notify}, Partitions: 8},
		bus.Topic{Name: dead, Groups: []string{driver.RedriveGroup}, Partitions: 12, Retention: time.Hour})
	publish(t, opened, b.exchange, typed("ChatMessageSent", "room", 1), typed("Followed", "m", 1), typed("com.example.Liked", "m", 2))
	publish(t, opened, dead, keyed("m", 1))
	want := map[string]int{chat: 1, notify: 2, dead: 1}
	if got := b.waiting(t, chat, notify, dead); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("the queues hold %v, want %v", got, want)
	}
	// A type that no queue accepts is an error until one does.
	if err := opened.Publisher().Publish(b.exchange, typed("VoteClosed", "m", 3)); !errors.Is(err, amqpbus.ErrUnroutable) ||
		!strings.Contains(err.Error(), "VoteClosed") {
		t.Fatalf("got %v, want ErrUnroutable that names the type", err)
	}
	declare(t, opened, bus.Topic{Name: b.exchange, Groups: []string{all}})
	publish(t, opened, b.exchange, typed("VoteClosed", "m", 3))
	// Another service publishes by type, without our routing keys.
	b.do(t, func(ch *amqp.Channel) error {
		return ch.Publish(b.exchange, "ChatMessageSent", true, false, amqp.Publishing{MessageId: "foreign", Body: []byte("hello")})
	})
	sub, err := opened.Subscriber(chat, bus.SubscriberConfig{})
	require.NoError(t, err)
	ch, err := sub.Subscribe(t.Context(), b.exchange)
	require.NoError(t, err)
	first := next(t, ch)
	if string(first.Payload) != "room#1" {
		t.Errorf("the first is %s", first.Payload)
	}
	first.Ack()
	second := next(t, ch)
	if string(second.Payload) != "hello" || second.UUID != "foreign" {
		t.Errorf("the second is %s %s", second.UUID, second.Payload)
	}
	second.Ack()
}

// Groups of one topic may have different numbers of queues, and a process that only
// publishes need not know them; but a group cannot change its own number.
func TestPartitions(t *testing.T) {
	t.Parallel()
	const keys = 50
	b := rabbit(t)
	workers, publisher := b.open(t, amqpbus.Config{}, "partitions=2"), b.open(t, amqpbus.Config{}, "partitions=7")
	topic := unique("topic")
	declare(t, workers,
		bus.Topic{Name: topic, Groups: []string{"one"}, Partitions: 1},
		bus.Topic{Name: topic, Groups: []string{"five"}, Partitions: 5},
		bus.Topic{Name: topic, Groups: []string{"default"}})
	var batch []*message.Message
	for k := range keys {
		batch = append(batch, keyed(keyName(k), 1))
	}
	publish(t, publisher, topic, batch...)
	sum := map[string]int{}
	queues := amqpbus.Queues(workers.Driver())
	require.Len(t, queues, 1+5+2, "the queues")
	for q, n := range b.waiting(t, queues...) {
		if n == 0 {
			t.Errorf("queue %s got nothing of %d keys", q, keys)
		}
		sum[strings.Split(q, ":")[1]] += n
	}
	for group, n := range sum {
		assert.Equalf(t, keys, n, "group %s got %d messages", group, n)
	}
	// Existing queues decide, not the number of a process.
	declare(t, publisher, bus.Topic{Name: topic, Groups: []string{"one", "five", "default"}})
	if got := amqpbus.Queues(publisher.Driver()); len(got) != len(queues) {
		t.Errorf("another process found %v, want %v", got, queues)
	}
	for _, n := range []int{1, 3, 6} {
		err := publisher.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{"five"}, Partitions: n})
		if !errors.Is(err, amqpbus.ErrPartitions) || fault.Of(err) != fault.Permanent {
			t.Errorf("%d partitions: got %v (%s), want a permanent ErrPartitions", n, err, fault.Of(err))
		}
	}
}

// Names that would not fit or not route are refused with the reason.
func TestNames(t *testing.T) {
	t.Parallel()
	b := rabbit(t)
	opened := b.open(t, amqpbus.Config{}, "")
	for name, want := range map[string]string{"a.*": "wildcards", "a.#": "wildcards", strings.Repeat("x", 181): "181 bytes"} {
		for what, err := range map[string]error{
			"declare": opened.Declare(t.Context(), bus.Topic{Name: name, Groups: []string{"g"}}),
			"publish": opened.Publisher().Publish(name, keyed("k", 1)),
		} {
			if err == nil || !strings.Contains(err.Error(), want) || fault.Of(err) != fault.Permanent {
				t.Errorf("%s %s: got %v (%s), want a permanent error about %s", what, name, err, fault.Of(err), want)
			}
		}
	}
	err := opened.Declare(t.Context(), bus.Topic{Name: "t", Groups: []string{strings.Repeat("g", 250)}})
	if err == nil || fault.Of(err) != fault.Permanent {
		t.Errorf("a long group: %v", err)
	}
	long := keyed("k", 1)
	long.Metadata[strings.Repeat("m", 256)] = "x"
	if err := opened.Publisher().Publish("t", long); fault.Of(err) != fault.Permanent {
		t.Errorf("a long name of metadata: %v (%s)", err, fault.Of(err))
	}
	// Names with colons do not collide.
	declare(t, opened,
		bus.Topic{Name: b.exchange + ".a:b", Groups: []string{"c"}, Partitions: 1},
		bus.Topic{Name: b.exchange + ".a", Groups: []string{"b:c"}, Partitions: 1})
	publish(t, opened, b.exchange+".a", keyed("k", 1))
	full := 0
	for _, n := range b.waiting(t, amqpbus.Queues(opened.Driver())...) {
		full += n
	}
	assert.Equal(t, 1, full, "queues took a message for one")
}

// A queue that exists with other properties is refused.
func TestForeignQueue(t *testing.T) {
	t.Parallel()
	b := rabbit(t)
	queue := unique("queue")
	b.do(t, func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclare(queue, true, false, false, false, nil)
		return err
	})
	t.Cleanup(func() {
		b.do(t, func(ch *amqp.Channel) error { _, err := ch.QueueDelete(queue, false, false, false); return err })
	})
	opened := b.open(t, amqpbus.Config{QueueName: func(_, _ string) string { return queue }}, "queue_type=classic")
	err := opened.Declare(t.Context(), bus.Topic{Name: unique("topic"), Groups: []string{"g"}, Partitions: 1})
	if err == nil || !strings.Contains(err.Error(), "x-single-active-consumer") || !strings.Contains(err.Error(), queue) {
		t.Errorf("got %v, want an error about the queue's x-single-active-consumer", err)
	}
}

// Two environments on one vhost share neither messages nor dead letters, with any exchange.
func TestPrefixKeepsApart(t *testing.T) {
	t.Parallel()
	b := rabbit(t)
	environment := unique("env")
	prod, staging := b.open(t, amqpbus.Config{}, "prefix="+environment+"-prod."), b.open(t, amqpbus.Config{}, "prefix="+environment+"-staging.")
	for _, topic := range []string{unique("topic"), "domain_events"} {
		for _, bs := range []*bus.Bus{prod, staging} {
			declare(t, bs, bus.Topic{Name: topic, Groups: []string{"g"}}, bus.Topic{Name: topic + ".dlq"})
		}
		publish(t, prod, topic, keyed("k", 1))
		publish(t, prod, topic+".dlq", keyed("k", 2))
		publish(t, staging, topic, keyed("k", 3))
		// Staging comes first: prod's message is the older one, in a queue that they share.
		for i, want := range []int{3, 1} {
			sub := sourcetest.Subscriber([]*bus.Bus{staging, prod}[i].Driver(), "g", 1)
			ch, err := sub.Subscribe(t.Context(), topic)
			require.NoError(t, err)
			m := <-ch
			if first := keyed("k", want); string(m.Payload) != string(first.Payload) {
				t.Errorf("%s: got %s, want %s", topic, m.Payload, first.Payload)
			}
			m.Ack()
			assert.NoError(t, sub.Close())
		}
		if letters, err := staging.Browse(t.Context(), topic+".dlq", 10); err != nil || len(letters) > 0 {
			t.Errorf("staging has %d letters of prod (%v)", len(letters), err)
		}
	}
}
