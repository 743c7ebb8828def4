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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Partitions: 6}))
		conf := watermillkafka.DefaultSaramaSyncPublisherConfig()
		conf.Version = sarama.V2_8_0_0
		theirs, err := watermillkafka.NewPublisher(watermillkafka.PublisherConfig{Brokers: brokers, Marshaler: marshaler, OverwriteSaramaConfig: conf}, nil)
		require.NoError(t, err)
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
				require.NoError(t, []message.Publisher{theirs, b.Publisher()}[n%2].Publish(topic, m), "publishing failed")
			}
		}
		require.NoError(t, theirs.Close())
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
		require.NoError(t, err)
		check("Watermill's subscriber", subscribe(t, sub, topic))
		assert.NoError(t, sub.Close())
	})
}

// Messages of another program's transaction are delivered if the transaction was committed.
func TestAbortedTransactions(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		b := openBus(t, kafkabus.Config{}, url)
		topic := name("topic")
		require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Partitions: 1}))
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
