package kafkabus

import (
	"fmt"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"

	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// idHeader is the record header in which Watermill's Kafka packages keep a
// message's UUID. Metadata are the other headers, the payload is the value.
const idHeader = "_watermill_message_uuid"

// record makes the record of a message, and the size that it takes before
// compression. Keyless messages have an empty key and not a missing one: they
// count as one key, and so share a partition.
func record(m *message.Message, key string) (*sarama.Record, int, error) {
	if _, ok := m.Metadata[idHeader]; ok {
		return nil, 0, fault.MarkPermanent(fmt.Errorf("message %s: metadata %s is reserved for the UUID; rename it", m.UUID, idHeader))
	}
	bytes := len(key) + len(idHeader) + len(m.UUID)
	for k, v := range m.Metadata {
		bytes += len(k) + len(v)
	}
	// All strings are copied into one allocation: with one for each, a relay
	// spends a tenth of its time on them.
	buffer := make([]byte, 0, bytes)
	copied := func(s string) []byte {
		from := len(buffer)
		buffer = append(buffer, s...)
		return buffer[from:len(buffer):len(buffer)]
	}
	headers := make([]sarama.RecordHeader, 1, len(m.Metadata)+1)
	headers[0] = sarama.RecordHeader{Key: copied(idHeader), Value: copied(m.UUID)}
	for k, v := range m.Metadata {
		headers = append(headers, sarama.RecordHeader{Key: copied(k), Value: copied(v)})
	}
	r := &sarama.Record{Key: copied(key), Value: m.Payload, Headers: make([]*sarama.RecordHeader, len(headers))}
	for i := range headers {
		r.Headers[i] = &headers[i]
	}
	if r.Value == nil {
		r.Value = []byte{} // a missing value would be a tombstone
	}
	return r, recordOverhead + headerOverhead*len(m.Metadata) + bytes + len(m.Payload), nil
}

// What lengths and flags may take beside the bytes themselves.
const (
	recordOverhead = 36
	headerOverhead = 10
)

// decode makes the message of a record. One that somebody else wrote, with a key
// and without our metadata, keeps its key.
func decode(key []byte, headers []*sarama.RecordHeader, value []byte) *message.Message {
	m := message.NewMessage("", value)
	m.Metadata = make(message.Metadata, len(headers))
	for _, h := range headers {
		if string(h.Key) == idHeader {
			m.UUID = string(h.Value)
		} else {
			m.Metadata[string(h.Key)] = string(h.Value)
		}
	}
	if len(key) > 0 && event.Key(m) == "" {
		m.Metadata[event.KeyHeader] = string(key)
	}
	return m
}

// decodeRecord is decode of a record that franz-go has read.
func decodeRecord(r *kgo.Record) *message.Message {
	m := message.NewMessage("", r.Value)
	m.Metadata = make(message.Metadata, len(r.Headers))
	for _, h := range r.Headers {
		if h.Key == idHeader {
			m.UUID = string(h.Value)
		} else {
			m.Metadata[h.Key] = string(h.Value)
		}
	}
	if len(r.Key) > 0 && event.Key(m) == "" {
		m.Metadata[event.KeyHeader] = string(r.Key)
	}
	return m
}

// partitioner chooses one of n partitions for a key.
type partitioner func(key []byte, n int32) int32

func partitionerOf(name string) (partitioner, error) {
	switch name {
	case "fnv":
		return fnv1a, nil
	case "murmur2":
		java := sarama.NewMurmur2Partitioner("")
		return func(key []byte, n int32) int32 {
			p, err := java.Partition(&sarama.ProducerMessage{Key: sarama.ByteEncoder(key)}, n)
			if err != nil {
				panic(err) // of a key that is bytes already
			}
			return p
		}, nil
	}
	return nil, fmt.Errorf("parameter \"partitioner\" is %q; give fnv (as Sarama and Watermill do) or murmur2 (as Java clients do)", name)
}

// fnv1a is sarama.NewHashPartitioner, which cannot be shared between goroutines.
func fnv1a(key []byte, n int32) int32 {
	h := uint32(2166136261)
	for _, b := range key {
		h ^= uint32(b)
		h *= 16777619
	}
	p := int32(h) % n
	if p < 0 {
		p = -p
	}
	return p
}

// messageOf makes the message of a record. One that something else has written, with a key
// and without our metadata, keeps its key.
func messageOf(r *kgo.Record) busdriver.Message {
	m := busdriver.Message{Metadata: make(map[string]string, len(r.Headers)), Payload: r.Value}
	for _, h := range r.Headers {
		if h.Key == idHeader {
			m.ID = string(h.Value)
		} else {
			m.Metadata[h.Key] = string(h.Value)
		}
	}
	if len(r.Key) > 0 && event.Key(&message.Message{Metadata: m.Metadata}) == "" {
		m.Metadata[event.KeyHeader] = string(r.Key)
	}
	return m
}
