package amqpbus_test

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	wamqp "github.com/ThreeDotsLabs/watermill-amqp/v2/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill/message"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/amqpbus"
)

// Watermill AMQP reads the messages of this package, and the other way round: its publisher
// needs the exchange and the topic, its subscriber the queue.
func TestWatermillReadsAndWrites(t *testing.T) {
	t.Parallel()
	b := rabbit(t)
	opened := b.open(t, amqpbus.Config{}, "partitions=3")
	topic := unique("payment.events")
	declare(t, opened, bus.Topic{Name: topic, Groups: []string{"ours"}}, bus.Topic{Name: topic, Groups: []string{"theirs"}, Partitions: 1})

	config := wamqp.NewDurablePubSubConfig(b.url, func(string) string { return topic + ":theirs" })
	config.Exchange = wamqp.ExchangeConfig{GenerateName: func(string) string { return b.exchange }, Type: "topic", Durable: true}
	config.Publish.GenerateRoutingKey = func(topic string) string { return topic }
	config.Publish.ConfirmDelivery = true
	config.Queue.Arguments = amqp.Table{"x-queue-type": "quorum", "x-single-active-consumer": true}
	config.QueueBind.GenerateRoutingKey = func(topic string) string { return topic }

	pub, err := wamqp.NewPublisher(config, watermill.NopLogger{})
	require.NoError(t, err)
	defer pub.Close() //nolint:errcheck // a test's other side
	require.NoError(t, pub.Publish(topic, keyed("k", 1)))
	theirs := typed("PaymentSuccess", "k", 2)
	publish(t, opened, topic, theirs)

	h := newHistory()
	consume(t, opened, h, "ours", topic, "ours", 0)
	sub, err := wamqp.NewSubscriber(config, watermill.NopLogger{})
	require.NoError(t, err)
	defer sub.Close() //nolint:errcheck // a test's other side
	ch, err := sub.Subscribe(t.Context(), topic)
	require.NoError(t, err)
	var last *message.Message
	for _, want := range []string{"k#1", "k#2"} {
		last = next(t, ch)
		if string(last.Payload) != want {
			t.Errorf("Watermill read %s, want %s", last.Payload, want)
		}
		last.Ack()
	}
	if !last.Equals(theirs) {
		t.Errorf("Watermill read %s %v, want %s %v", last.UUID, last.Metadata, theirs.UUID, theirs.Metadata)
	}
	h.until(t, waitLong, "both arrive", func(n int, _ map[string]int) bool { return n == 2 })
}

// Another program may name further routing keys in header CC, which RabbitMQ keeps and takes as a
// list only. Such a message can be published on, as its dead letter is.
func TestMessageWithFurtherRoutingKeys(t *testing.T) {
	t.Parallel()
	b := rabbit(t)
	opened := b.open(t, amqpbus.Config{}, "partitions=1")
	topic, letters := unique("cc"), unique("letters")
	declare(t, opened, bus.Topic{Name: topic, Groups: []string{"g"}}, bus.Topic{Name: letters, Groups: []string{"g"}})
	b.do(t, func(ch *amqp.Channel) error {
		return ch.Publish(b.exchange, topic, true, false, amqp.Publishing{Headers: amqp.Table{"CC": []any{"elsewhere"}}, Body: []byte("1")})
	})
	sub, err := opened.Subscriber("g", bus.SubscriberConfig{})
	require.NoError(t, err)
	ch, err := sub.Subscribe(t.Context(), topic)
	require.NoError(t, err)
	m := next(t, ch)
	require.NoError(t, opened.Publisher().Publish(letters, m))
	m.Ack()
}
