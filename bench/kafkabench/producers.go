package kafkabench

import (
	"context"
	"fmt"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
)

// flatOut feeds the asynchronous producer as fast as it takes messages. They are
// records already, so that nothing but the producer is measured.
func (c *cluster) flatOut(ctx context.Context, topic string, messages []*message.Message) (result, error) {
	records := make([]*sarama.ProducerMessage, len(messages))
	for i, m := range messages {
		records[i] = record(topic, m)
	}
	return timed(len(records), func() error {
		acknowledged := make(chan error, 1)
		go func() { acknowledged <- c.collect(len(records)) }()
		for _, r := range records {
			select {
			case c.flat.Input() <- r:
			case err := <-acknowledged:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return <-acknowledged
	})
}

// record is the message as Watermill's Kafka packages, and kafkabus, write it.
func record(topic string, m *message.Message) *sarama.ProducerMessage {
	headers := make([]sarama.RecordHeader, 0, len(m.Metadata)+1)
	headers = append(headers, sarama.RecordHeader{Key: []byte("_watermill_message_uuid"), Value: []byte(m.UUID)})
	for k, v := range m.Metadata {
		headers = append(headers, sarama.RecordHeader{Key: []byte(k), Value: []byte(v)})
	}
	return &sarama.ProducerMessage{Topic: topic, Key: sarama.StringEncoder(event.Key(m)), Value: sarama.ByteEncoder(m.Payload), Headers: headers}
}

// collect takes that many answers of the producer.
func (c *cluster) collect(n int) error {
	var failed error
	for range n {
		select {
		case <-c.flat.Successes():
		case e := <-c.flat.Errors():
			failed = fmt.Errorf("flat out: %w", e.Err)
		}
	}
	return failed
}

// oneByOne publishes as one caller of Watermill's publisher does.
func (c *cluster) oneByOne(topic string, messages []*message.Message) (result, error) {
	return timed(len(messages), func() error { return c.watermill.Publish(topic, messages...) })
}
