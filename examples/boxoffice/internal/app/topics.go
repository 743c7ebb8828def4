package app

import (
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// partitions of a topic: how many processes can share a group.
const partitions = 3

// topics are the topics of consumers, with their groups and dead letters.
func topics(consumers []store.Consumer) []bus.Topic {
	var all []bus.Topic
	add := func(name string) *bus.Topic {
		for i := range all {
			if all[i].Name == name {
				return &all[i]
			}
		}
		all = append(all, bus.Topic{Name: name, Partitions: partitions, Retention: 3 * 24 * time.Hour})
		return &all[len(all)-1]
	}
	for _, c := range consumers {
		t := add(c.Topic)
		t.Groups = append(t.Groups, c.Group)
	}
	for _, c := range consumers {
		dead := add(deadLetters(c.Topic, c.Group))
		dead.Partitions, dead.Retention = 1, 7*24*time.Hour
	}
	return all
}

// deadLetters names dlq.payment for payment.events, like-events.DLT for
// like-events, and for the queues of domain_events notification_dlq and so on.
func deadLetters(topic, group string) string {
	switch {
	case topic == events.Domain:
		return strings.TrimSuffix(group, "_queue") + "_dlq"
	case figuresOf(topic):
		return topic + ".DLT"
	}
	return "dlq." + strings.TrimSuffix(topic, ".events")
}

// retry is 1, 2 and 4 s, and 1 s once for topics that are only counted.
func retry(topic string) bus.RetryPolicy {
	if figuresOf(topic) {
		return bus.FixedRetry(time.Second, 1)
	}
	return bus.DefaultRetry()
}

// figuresOf reports whether a topic feeds a show's figures.
func figuresOf(topic string) bool {
	return slices.Contains([]string{events.Likes, events.Orders, events.Products, events.Stock}, topic)
}

// operated is the consumer as the operator knows it.
func operated(c store.Consumer) ops.Consumer {
	return ops.Consumer{Topic: c.Topic, Group: c.Group, DeadLetters: deadLetters(c.Topic, c.Group)}
}
