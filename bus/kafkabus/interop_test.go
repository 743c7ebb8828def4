package kafkabus_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/IBM/sarama"
	watermillkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/event"
)

// Watermill's own Kafka publisher and subscriber understand ours, and map a key to the same
// partition.
func TestInteroperatesWithWatermillKafka(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		brokers := strings.Split(strings.Trim(strings.TrimPrefix(url, "kafka://"), "/"), ",")
		marshaler := watermillkafka.NewWithPartitioningMarshaler(func(_ string, m *message.Message) (string, error) { return event.Key(m), nil })
		b := openBus(t, kafkabus.Config{}, url)
		topic, group := name("topic"), name("group")
		if err := b.Declare(t.Context(), bus.Topic{Name: topic, Partitions: 6}); err != nil {
			t.Fatal(err)
		}
		conf := watermillkafka.DefaultSaramaSyncPublisherConfig()
		conf.Version = sarama.V2_8_0_0
		theirs, err := watermillkafka.NewPublisher(watermillkafka.PublisherConfig{Brokers: brokers, Marshaler: marshaler, OverwriteSaramaConfig: conf}, nil)
		if err != nil {
			t.Fatal(err)
		}
		// Alternately, so that the order of a key shows whether both choose one partition.
		const keys, each = 10, 6
		sent := map[string]*message.Message{}
		for n := range each {
			for k := range keys {
				m := keyed(fmt.Sprint("key", k), strconv.Itoa(n))
				if k == 0 {
					delete(m.Metadata, event.KeyHeader)
				}
				m.Metadata.Set("ce_type", "좌석")
				sent[m.UUID] = m
				if pub := []message.Publisher{theirs, b.Publisher()}[n%2]; pub.Publish(topic, m) != nil {
					t.Fatal("publishing failed")
				}
			}
		}
		if err := theirs.Close(); err != nil {
			t.Fatal(err)
		}
		check := func(who string, ch <-chan *message.Message) {
			t.Helper()
			next := map[string]int{}
			for range keys * each {
				m := receive(t, ch)
				if want := sent[m.UUID]; want == nil || !m.Equals(want) {
					t.Errorf("%s got %s %v %q", who, m.UUID, m.Metadata, m.Payload)
				}
				if key := event.Key(m); string(m.Payload) != strconv.Itoa(next[key]) {
					t.Errorf("%s got %s of key %q, want %d", who, m.Payload, key, next[key])
				}
				next[event.Key(m)]++
				m.Ack()
			}
		}
		check("our subscriber", subscribe(t, subscriber(t, b, group, 100), topic))
		conf = watermillkafka.DefaultSaramaSubscriberConfig()
		conf.Version, conf.Consumer.Offsets.Initial = sarama.V2_8_0_0, sarama.OffsetOldest
		sub, err := watermillkafka.NewSubscriber(watermillkafka.SubscriberConfig{
			Brokers: brokers, Unmarshaler: marshaler, OverwriteSaramaConfig: conf, ConsumerGroup: name("group"),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		check("Watermill's subscriber", subscribe(t, sub, topic))
		if err := sub.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Messages of another program's transaction are delivered if the transaction was committed.
func TestAbortedTransactions(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		b := openBus(t, kafkabus.Config{}, url)
		topic := name("topic")
		if err := b.Declare(t.Context(), bus.Topic{Name: topic, Partitions: 1}); err != nil {
			t.Fatal(err)
		}
		theirs := transactional(t, url, topic)
		for i, end := range []kgo.TransactionEndTry{kgo.TryAbort, kgo.TryCommit, kgo.TryAbort} {
			produce(t, theirs, slices.Repeat([]string{strconv.Itoa(i)}, 3)...)
			finish(t, theirs, end)
		}
		publish(t, b, topic, keyed("k", "ours"))
		ch := subscribe(t, subscriber(t, b, name("group"), 100), topic)
		for _, want := range []string{"1", "1", "1", "ours"} {
			m := receive(t, ch)
			if string(m.Payload) != want {
				t.Errorf("got %s, want %s", m.Payload, want)
			}
			m.Ack()
		}
	})
}
