package logsub

import (
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log"
)

// encode makes the entry of a message on its topic. The key determines the lane.
func encode(topic Topic, msg *message.Message, headers Headers) (log.Entry, error) {
	key := event.Key(msg)
	e := log.Entry{
		Lane:      topic.FirstLane + log.LaneOf(key, topic.Partitions),
		Topic:     topic.Name,
		MessageID: msg.UUID,
		Key:       key,
		Payload:   msg.Payload,
	}
	if len(msg.Metadata) > 0 {
		encoded, err := headers.Encode(msg.Metadata)
		if err != nil {
			return e, fault.MarkPermanent(fmt.Errorf("logsub: message %s: encode the metadata: %w", msg.UUID, err))
		}
		e.Headers = encoded
	}
	return e, nil
}

// Chunk returns how many of the values, which are not empty, go in one request: at most most, and
// beyond the first one at most as many as have the bytes together.
func Chunk[T any](values []T, most, bytes int, size func(T) int) int {
	sum := 0
	for i, v := range values {
		if sum += size(v); i > 0 && (i == most || sum > bytes) {
			return i
		}
	}
	return len(values)
}

func decode(e log.Entry, headers Headers) (driver.Message, error) {
	m := driver.Message{ID: e.MessageID, Payload: e.Payload}
	if e.Headers == "" {
		return m, nil
	}
	metadata, err := headers.Decode(e.Headers)
	if err != nil {
		return m, fmt.Errorf("logsub: entry %d: %w", e.ID, err)
	}
	m.Metadata = metadata
	return m, nil
}

// jsonHeaders is the default form of metadata.
type jsonHeaders struct{}

func (jsonHeaders) Encode(metadata message.Metadata) (string, error) {
	return kit.EncodeMetadata(metadata)
}

func (jsonHeaders) Decode(headers string) (message.Metadata, error) {
	return kit.DecodeMetadata(headers)
}
