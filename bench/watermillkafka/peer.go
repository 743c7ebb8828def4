package watermillkafka

import (
	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
)

func marshaler() kafka.MarshalerUnmarshaler {
	return kafka.NewWithPartitioningMarshaler(func(_ string, m *message.Message) (string, error) { return event.Key(m), nil })
}

// NewPublisher opens the publisher, which keys records by event.Key.
func NewPublisher(brokers []string, conf *sarama.Config) (message.Publisher, error) {
	return kafka.NewPublisher(kafka.PublisherConfig{Brokers: brokers, Marshaler: marshaler(), OverwriteSaramaConfig: conf}, watermill.NopLogger{})
}

// NewSubscriber makes a member of a group.
func NewSubscriber(brokers []string, group string, conf *sarama.Config) (message.Subscriber, error) {
	return kafka.NewSubscriber(kafka.SubscriberConfig{
		Brokers: brokers, Unmarshaler: marshaler(), ConsumerGroup: group, OverwriteSaramaConfig: conf,
	}, watermill.NopLogger{})
}
