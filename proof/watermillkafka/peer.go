package watermillkafka

import (
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
)

// Config returns settings with the promises of kafkabus: a message is acknowledged by
// every in-sync replica, once and in order; a new group begins at the earliest message.
func Config() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.V3_2_0_0
	c.Net.MaxOpenRequests = 1
	c.Metadata.AllowAutoTopicCreation = false
	c.Producer.RequiredAcks, c.Producer.Idempotent = sarama.WaitForAll, true
	c.Producer.Compression = sarama.CompressionZSTD
	c.Producer.MaxMessageBytes = 960 << 10
	c.Producer.Return.Successes = true
	c.Consumer.IsolationLevel = sarama.ReadCommitted
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Interval = 500 * time.Millisecond
	c.Consumer.MaxWaitTime = 250 * time.Millisecond
	c.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyCooperativeSticky()}
	return c
}

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
