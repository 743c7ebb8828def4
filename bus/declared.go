package bus

import (
	"slices"
	"time"

	"github.com/millrace-go/millrace/bus/driver"
)

// topicsOf returns the topics that the consumers need: their own with all groups, and the dead
// letter topics.
func topicsOf(consumers []*consumer, retention time.Duration) []Topic {
	var topics []Topic
	index := map[string]int{}
	add := func(name string) *Topic {
		i, ok := index[name]
		if !ok {
			i = len(topics)
			index[name] = i
			topics = append(topics, Topic{Name: name})
		}
		return &topics[i]
	}
	for _, c := range consumers {
		t := add(c.Topic)
		t.Groups = append(t.Groups, c.Group)
	}
	for _, c := range consumers {
		t := add(c.deadLetterTopic)
		if !slices.Contains(t.Groups, driver.RedriveGroup) {
			t.Groups = append(t.Groups, driver.RedriveGroup)
		}
		t.Retention = retention
	}
	return topics
}
