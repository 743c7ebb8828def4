package redisbus

import (
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
	"github.com/millrace-go/millrace/fault"
)

// keys names everything in Redis. Its value is a prefix of all names.
type keys string

// topics is a hash of all topics, from name to stored.
func (k keys) topics() string { return string(k) + "millrace:topics" }

// stream names a partition. The one stream of a topic with one partition is named like the
// topic, as Watermill names it. Several are spread over the nodes of a Cluster: the braces
// are part of the lease's name too, and so place the lease beside its stream.
func (k keys) stream(topic string, partition, partitions int) string {
	if partitions == 1 {
		return string(k) + topic
	}
	return fmt.Sprintf("{%s%s:%d}", k, topic, partition)
}

// lease names the lease of a group on a stream, in the stream's slot.
func (k keys) lease(stream, group string) string { return k.of("lease", stream, group) }

// starts is a hash: how often a group started reading a stream since its last progress, and
// which message was handled alone then.
func (k keys) starts(stream, group string) string {
	return k.of("starts", stream, group)
}

func (k keys) of(kind, stream, group string) string {
	if !strings.HasPrefix(stream, "{") {
		stream = "{" + stream + "}"
	}
	return string(k) + "millrace:" + kind + ":" + stream + ":" + group
}

// members is a hash of a group's live members.
func (k keys) members(topic, group string) string {
	return string(k) + "millrace:members:{" + topic + "}:" + group
}

// channel is where readers of a topic are notified of messages and of each other.
func (k keys) channel(topic string) string { return string(k) + "millrace:wake:" + topic }

// checkTopic refuses names that would move keys which belong together into
// different slots.
func checkTopic(name string) error {
	if strings.ContainsAny(name, "{}") {
		return fault.MarkPermanent(fmt.Errorf("redisbus: topic %.80q has a brace, which Redis Cluster reads as a hash tag; name it without", name))
	}
	return nil
}

// partition is one stream of a topic.
type partition struct {
	logdriver.Partition
	stream string
}

// partition returns the partition with that number.
func (s *store) partition(lane int) partition {
	p := s.lanes.Partition(lane)
	return partition{p, s.keys.stream(p.Topic, p.N, p.Of)}
}
