package natsbus

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
)

// names makes the names of everything in NATS. Its value is the prefix of all names.
type names string

// stream is the stream of a topic's messages. The plus is in no token.
func (n names) stream(topic string) string { return string(n) + "+" + token(topic) }

// subjects are those of a topic: one for each partition.
func (n names) subjects(topic string) string { return string(n) + "." + token(topic) + ".*" }

func (n names) subject(topic string, partition int) string {
	return fmt.Sprintf("%s.%s.%d", string(n), token(topic), partition)
}

// wake is where the readers of a partition are notified of messages; groups is where all
// readers are notified that a member came or left.
func (n names) wake(topic, partition string) string {
	return string(n) + "-wake." + token(topic) + "." + partition
}
func (n names) groups() string { return string(n) + "-wake" }

// bucket is the stream of the KV bucket, which has the prefix's name.
func (n names) bucket() string { return "KV_" + string(n) }

// stored is the subject of a key in the bucket.
func (n names) stored(key string) string { return "$KV." + string(n) + "." + key }

// The keys of the bucket. A group may be "*", which is no token, for all groups.
func cursorKey(p partition, group string) string { return p.key("cursor", group) }
func startsKey(p partition, group string) string { return p.key("starts", group) }

func memberKey(m logdriver.Member) string {
	return "member." + token(m.Topic) + "." + token(m.Group) + "." + token(m.ID)
}

// token writes a name as one token of a subject, without characters that a stream's name or
// a key may not have.
func token(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

// untoken is the inverse of token.
func untoken(text string) (string, error) {
	return url.PathUnescape(strings.ReplaceAll(text, "=", "%"))
}

// partition is one subject of a topic.
type partition struct {
	topic  string
	number int
}

func (p partition) key(kind, group string) string {
	if group != "*" {
		group = token(group)
	}
	return fmt.Sprintf("%s.%s.%d.%s", kind, token(p.topic), p.number, group)
}

// registry numbers the partitions that this process uses. The numbers are its own:
// processes share the names of streams and subjects only.
type registry struct {
	mu      sync.Mutex
	topics  map[string]logdriver.Topic
	created map[string]time.Time // of their streams, as far as this process knows
	lanes   []partition
}

func newRegistry() *registry {
	return &registry{topics: make(map[string]logdriver.Topic), created: make(map[string]time.Time)}
}

// number returns the topic with its lanes in this process, and notes when its stream was
// created.
func (r *registry) number(t logdriver.Topic, created time.Time) logdriver.Topic {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.topics[t.Name]
	if !ok || known.Partitions != t.Partitions { // or it was deleted, and created with others
		known = logdriver.Topic{Name: t.Name, FirstLane: len(r.lanes), Partitions: t.Partitions}
		for n := range t.Partitions {
			r.lanes = append(r.lanes, partition{t.Name, n})
		}
	}
	known.Retention = t.Retention
	r.topics[t.Name], r.created[t.Name] = known, created
	return known
}

// topic returns a topic that was numbered, and when its stream was created.
func (r *registry) topic(name string) (t logdriver.Topic, created time.Time, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok = r.topics[name]
	return t, r.created[name], ok
}

// partition returns the partition with that number.
func (r *registry) partition(lane int) partition {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lanes[lane]
}
