package kafkawatermill

import (
	"github.com/IBM/sarama"
	wmkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// keyed is Watermill's wire format, with the key of a message as the key of its record.
// Messages without a key have an empty one: they count as one key, and share a partition.
type keyed struct{ wmkafka.MarshalerUnmarshaler }

func wire() wmkafka.MarshalerUnmarshaler {
	return keyed{wmkafka.NewWithPartitioningMarshaler(func(_ string, m *message.Message) (string, error) { return event.Key(m), nil })}
}

// Unmarshal keeps the key of a record that another program has written.
func (k keyed) Unmarshal(r *sarama.ConsumerMessage) (*message.Message, error) {
	m, err := k.MarshalerUnmarshaler.Unmarshal(r)
	if err == nil && len(r.Key) > 0 && event.Key(m) == "" {
		m.Metadata.Set(event.KeyHeader, string(r.Key))
	}
	return m, err
}

// permanent is a marshaler that marks its errors as permanent.
type permanent struct{ wmkafka.Marshaler }

func (p permanent) Marshal(topic string, m *message.Message) (*sarama.ProducerMessage, error) {
	r, err := p.Marshaler.Marshal(topic, m)
	if err != nil {
		return nil, fault.MarkPermanent(err)
	}
	return r, nil
}
