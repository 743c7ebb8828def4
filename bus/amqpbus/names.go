package amqpbus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// slots is how many parts a topic's keys are hashed to. The slot is part of the routing
// key, so a publisher need not know how many queues a group has, and groups of one topic
// may differ. 48 divides by 1, 2, 3, 4, 6, 8, 12, 16, 24 and 48; other numbers of queues
// get shares that differ by one slot.
const slots = 48

// maxName leaves room in RabbitMQ's 255 bytes of a name or routing key for the rest of it.
const maxName = 180

// checkTopic refuses names that cannot be part of a routing key and a queue's name.
func checkTopic(topic string) error {
	switch {
	case topic == "":
		return fault.MarkPermanent(errors.New("the topic has no name"))
	case len(topic) > maxName:
		return fault.MarkPermanent(fmt.Errorf("the topic's name has %d bytes; RabbitMQ's routing keys leave room for %d", len(topic), maxName))
	case strings.ContainsAny(topic, "*#"):
		return fault.MarkPermanent(fmt.Errorf("topic %q: * and # are wildcards of a topic exchange; leave them out", topic))
	}
	return nil
}

// naming makes routing keys and queue names.
type naming struct {
	prefix   string
	exchange string // without the prefix
	queue    func(topic, group string) string
	bindings map[string][]string
}

// typed reports whether the topic is the exchange itself: its messages are routed by their
// event type alone, and its groups are plain queues.
func (n naming) typed(topic string) bool { return topic == n.exchange }

// key is the routing key of a message.
func (n naming) key(topic string, m *message.Message) string {
	kind := word(typeOf(m))
	if n.typed(topic) {
		return kind
	}
	slot := strconv.Itoa(kit.PartitionOf(event.Key(m), slots))
	key := topic + "." + slot + "." + kind
	return key[:min(len(key), 255)]
}

// patterns are the binding keys of queue p of a group with that many partitions.
func (n naming) patterns(topic, group string, p, partitions int) []string {
	var keys []string
	switch {
	case n.typed(topic) && group != busdriver.RedriveGroup && len(n.bindings[group]) > 0:
		for _, kind := range n.bindings[group] {
			keys = append(keys, word(kind))
		}
	case n.typed(topic):
		keys = []string{"*"}
	case partitions == 1:
		keys = []string{topic, topic + ".*.*"}
	default:
		for slot := p; slot < slots; slot += partitions {
			keys = append(keys, topic+"."+strconv.Itoa(slot)+".*")
		}
		if p == 0 {
			// Other publishers need not know of slots.
			keys = append(keys, topic)
		}
	}
	return keys
}

// base is the name of a group's queue, before the number of the partition.
func (n naming) base(topic, group string) string {
	switch {
	case group == busdriver.RedriveGroup:
		return n.holding(topic)
	case n.queue != nil:
		return n.prefix + n.queue(topic, group)
	case n.typed(topic):
		return n.prefix + group
	}
	return n.prefix + escape(topic) + ":" + escape(group)
}

func partition(base string, p int) string { return base + ":" + strconv.Itoa(p) }

// single reports whether a group always has one queue.
func (n naming) single(topic, group string) bool {
	return n.typed(topic) || group == busdriver.RedriveGroup
}

// holding is the queue of the redrive group, which also keeps the messages that no group
// accepts: both are letters for an operator. No other queue has such a name, because the
// others have a colon.
func (n naming) holding(topic string) string { return n.prefix + escape(topic) }

// members is the queue on which the instances of a group count themselves.
func members(base string) string { return base + ":members" }

// escape makes names differ that differ only in the position of a colon.
func escape(s string) string {
	return strings.NewReplacer("%", "%25", ":", "%3A").Replace(s)
}

// word makes one word of a routing key: dots separate words, and * and # are
// wildcards in a binding.
func word(kind string) string {
	if kind == "" {
		return "message"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, kind[:min(len(kind), 70)])
}

// typeOf finds the event type of a message, in either mode of CloudEvents.
func typeOf(m *message.Message) string {
	for _, b := range [...]event.Binding{event.KafkaBinding, event.HTTPBinding, event.AMQPBinding} {
		if v := m.Metadata[string(b)+"type"]; v != "" {
			return v
		}
	}
	if strings.HasPrefix(m.Metadata[event.ContentTypeHeader], "application/cloudevents+json") {
		return structuredType(m.Payload)
	}
	return ""
}

// structuredType reads the member "type" of a JSON object and as little else as possible:
// the data may be long.
func structuredType(payload []byte) string {
	d := json.NewDecoder(bytes.NewReader(payload))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return ""
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return ""
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return ""
		}
		if name == "type" {
			var kind string
			if json.Unmarshal(value, &kind) != nil {
				return ""
			}
			return kind
		}
	}
	return ""
}
