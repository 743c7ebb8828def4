package kafkabus

import (
	"fmt"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"

	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// idHeader is the record header in which Watermill's Kafka packages keep a message's UUID.
// Other headers are metadata, the value is the payload.
const idHeader = "_watermill_message_uuid"

// sizeOf returns the size that the record of a message takes before compression.
func sizeOf(m *message.Message, key string) (int, error) {
	if _, ok := m.Metadata[idHeader]; ok {
		return 0, fault.MarkPermanent(fmt.Errorf("message %s: metadata %s is reserved for the UUID; rename it", m.UUID, idHeader))
	}
	size := recordOverhead + len(key) + len(idHeader) + len(m.UUID) + len(m.Payload)
	for k, v := range m.Metadata {
		size += headerOverhead + len(k) + len(v)
	}
	return size, nil
}

// encode makes the record of a message. Keyless messages have an empty key and not
// a missing one: they count as one key, and so share a partition.
func encode(r *kgo.Record, m *message.Message, key string) {
	bytes := len(key) + len(m.UUID)
	for _, v := range m.Metadata {
		bytes += len(v)
	}
	// All values are copied into one allocation: with one for each, a relay
	// spends a tenth of its time on them.
	buffer := make([]byte, 0, bytes)
	copied := func(s string) []byte {
		from := len(buffer)
		buffer = append(buffer, s...)
		return buffer[from:len(buffer):len(buffer)]
	}
	r.Headers = make([]kgo.RecordHeader, 1, len(m.Metadata)+1)
	r.Headers[0] = kgo.RecordHeader{Key: idHeader, Value: copied(m.UUID)}
	for k, v := range m.Metadata {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: k, Value: copied(v)})
	}
	r.Key, r.Value = copied(key), m.Payload
	if r.Value == nil {
		r.Value = []byte{} // a missing value would be a tombstone
	}
}

// Sizes of lengths and flags, beside the bytes themselves.
const (
	recordOverhead = 36
	headerOverhead = 10
)

// messageOf makes the message of a record. A record of another program, with a key and
// without our metadata, keeps its key.
func messageOf(r *kgo.Record) busdriver.Message {
	m := busdriver.Message{Metadata: make(map[string]string, len(r.Headers)), Payload: r.Value}
	size := 0
	for _, h := range r.Headers {
		size += len(h.Value)
	}
	var values strings.Builder // with one allocation for all of them
	values.Grow(size)
	for _, h := range r.Headers {
		values.Write(h.Value)
	}
	rest := values.String()
	for _, h := range r.Headers {
		value := rest[:len(h.Value)]
		rest = rest[len(h.Value):]
		if h.Key == idHeader {
			m.ID = value
		} else {
			m.Metadata[h.Key] = value
		}
	}
	if len(r.Key) > 0 && event.Key(&message.Message{Metadata: m.Metadata}) == "" {
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
		java := kgo.StickyKeyPartitioner(nil).ForTopic("")
		return func(key []byte, n int32) int32 { return int32(java.Partition(&kgo.Record{Key: key}, int(n))) }, nil
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
