package kafkabus_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/fault"
)

// setting returns a topic's configuration.
func setting(c *kfake.Cluster, topic, key string) string {
	if v := c.TopicInfo(topic).Configs[key]; v != nil {
		return *v
	}
	return ""
}

func TestDeclare(t *testing.T) {
	t.Parallel()
	c := fake(t, kfake.NumBrokers(3))
	b := openBus(t, kafkabus.Config{}, urlOf(c)+"?partitions=4&retention=24h")
	for range 2 {
		err := b.Declare(t.Context(),
			bus.Topic{Name: "plain"},
			bus.Topic{Name: "full", Partitions: 7, Replication: 3, Retention: time.Hour})
		require.NoError(t, err)
	}
	if n := len(c.PartitionInfos("plain")); n != 4 {
		t.Errorf("plain has %d partitions, want 4 of the URL", n)
	}
	if n := len(c.PartitionInfos("full")); n != 7 {
		t.Errorf("full has %d partitions, want 7", n)
	}
	for _, tc := range []struct{ topic, key, want string }{
		{"plain", "retention.ms", "86400000"}, {"plain", "min.insync.replicas", ""},
		{"full", "retention.ms", "3600000"}, {"full", "min.insync.replicas", "2"},
	} {
		if got := setting(c, tc.topic, tc.key); got != tc.want {
			t.Errorf("%s of %s is %q, want %q", tc.key, tc.topic, got, tc.want)
		}
	}
	// Another retention is set; no retention leaves it unchanged.
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "full", Retention: 2 * time.Hour}, bus.Topic{Name: "plain"}))
	assert.Equal(t, "7200000", setting(c, "full", "retention.ms"), "the retention of full")
	assert.Equal(t, "86400000", setting(c, "plain", "retention.ms"), "the retention of plain")
	// A topic that is used before it is declared.
	publish(t, b, "used", keyed("k", "1"))
	if n := len(c.PartitionInfos("used")); n != 4 {
		t.Errorf("used has %d partitions, want 4", n)
	}
}

func TestDeclareErrors(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		b := openBus(t, kafkabus.Config{}, url)
		topic := name("topic")
		require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Partitions: 2}))
		for _, tc := range []struct {
			topic bus.Topic
			say   []string
		}{
			{bus.Topic{Name: topic, Partitions: 3}, []string{topic, "2 partitions", "order"}},
			{bus.Topic{Name: topic, Partitions: 1}, []string{topic, "2 partitions", "order"}},
			{bus.Topic{Name: name("topic"), Replication: 9}, []string{"9 brokers", "has 1"}},
			{bus.Topic{Name: "no/such"}, []string{"no/such", "a-z"}},
			{bus.Topic{Name: ".."}, []string{".."}},
		} {
			err := b.Declare(t.Context(), tc.topic)
			if fault.Of(err) != fault.Permanent {
				t.Errorf("%+v: %v (%v), want permanent", tc.topic, err, fault.Of(err))
				continue
			}
			for _, want := range tc.say {
				assert.Containsf(t, err.Error(), want, "%+v: %v; want it to say %q", tc.topic, err, want)
			}
		}
		assert.ErrorIs(t, b.Declare(t.Context(), bus.Topic{Name: topic, Partitions: 3}), kafkabus.ErrTopic)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		assert.ErrorIs(t, b.Declare(ended, bus.Topic{Name: name("topic")}), context.Canceled, "with an ended context")
	})
}

// Declaring a group at work does not change its offsets.
func TestDeclareKeepsOffsets(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		cfg := kafkabus.Config{Partitions: 1, CommitInterval: 10 * time.Millisecond}
		b := openBus(t, cfg, url)
		topic, group := name("topic"), name("group")
		publish(t, b, topic, keyed("k", "1"), keyed("k", "2"))
		sub := subscriber(t, b, group, 10)
		ch := subscribe(t, sub, topic)
		receive(t, ch) // nothing committed yet
		require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}), "while a member is at work")
		require.NoError(t, sub.Close())
		sub = subscriber(t, b, group, 10)
		expect(t, subscribe(t, sub, topic), "1")
		require.NoError(t, sub.Close())
		require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}))
		expect(t, subscribe(t, subscriber(t, b, group, 10), topic), "2")
	})
}

// Declaring a group waits for a cluster that has just started, whose coordinators load.
func TestDeclareWhileCoordinatorsLoad(t *testing.T) {
	t.Parallel()
	for name, loading := range map[string]*kerr.Error{
		"loading": kerr.CoordinatorLoadInProgress, "not there": kerr.CoordinatorNotAvailable, "moved": kerr.NotCoordinator,
	} {
		for key, request := range map[string]kmsg.Key{"read": kmsg.OffsetFetch, "written": kmsg.OffsetCommit} {
			t.Run(name+", offsets are "+key, func(t *testing.T) {
				t.Parallel()
				c := fake(t)
				b := openBus(t, kafkabus.Config{}, urlOf(c))
				f := c.Fault(kfake.Fault{Keys: []kmsg.Key{request}, Err: loading, Count: 6})
				require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "topic", Groups: []string{"g"}}))
				assert.NoError(t, f.Wait(t.Context(), 6))
			})
		}
	}
}

// Lag reports the groups of this process, or all.
func TestLagOfGroups(t *testing.T) {
	t.Parallel()
	c := fake(t)
	a, b := openBus(t, kafkabus.Config{}, urlOf(c)), openBus(t, kafkabus.Config{}, urlOf(c))
	all := openBus(t, kafkabus.Config{}, urlOf(c)+"?lag=all")
	require.NoError(t, a.Declare(t.Context(), bus.Topic{Name: "one", Groups: []string{"x", "y"}}))
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "two", Groups: []string{"x"}}))
	publish(t, a, "one", keyed("k", "1"), keyed("l", "2"), keyed("m", "3"))
	for _, tc := range []struct {
		b    *bus.Bus
		want string
	}{{a, "one x 3, one y 3"}, {b, "two x 0"}, {all, "one x 3, one y 3, two x 0"}} {
		found, err := tc.b.Lag(t.Context())
		require.NoError(t, err)
		var got []string
		for _, l := range found {
			got = append(got, l.Topic+" "+l.Group+" "+string(rune('0'+l.Messages)))
			assert.Equalf(t, l.Oldest.IsZero(), (l.Messages == 0), "%+v", l)
		}
		assert.Equalf(t, tc.want, strings.Join(got, ", "), "lag is %v", got)
	}
}

// different counts different payloads. Messages of one millisecond and several
// partitions have no order among them.
func different(all []*message.Message) int {
	seen := map[string]bool{}
	for _, m := range all {
		seen[string(m.Payload)] = true
	}
	return len(seen)
}

// Browsing and listing survive a leader that moves.
func TestLookingWhileLeadersMove(t *testing.T) {
	t.Parallel()
	c := fake(t, kfake.NumBrokers(3))
	b := openBus(t, kafkabus.Config{}, urlOf(c))
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "topic", Groups: []string{"g"}}))
	for _, k := range []string{"a", "b", "c", "d"} {
		publish(t, b, "topic", keyed(k, k))
	}
	for range 5 {
		c.ShufflePartitionLeaders()
		c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch, kmsg.ListOffsets}, Topic: "topic", Err: kerr.NotLeaderForPartition, Count: 2})
		if got, err := b.Browse(t.Context(), "topic", 3); err != nil || different(got) != 3 {
			t.Fatalf("browse: %d messages, %v", len(got), err)
		}
		if got, err := b.Pending(t.Context(), "topic", "g", 3); err != nil || different(got) != 3 {
			t.Fatalf("pending: %d messages, %v", len(got), err)
		}
		if got, err := b.Lag(t.Context()); err != nil || len(got) != 1 || got[0].Messages != 4 {
			t.Fatalf("lag: %v, %v", got, err)
		}
	}
	if got, err := b.Pending(t.Context(), "topic", "nobody", 10); err != nil || len(got) != 4 {
		t.Errorf("a group that does not exist has %d messages pending, %v", len(got), err)
	}
	if got, err := b.Pending(t.Context(), "no-such-topic", "g", 10); err != nil || len(got) != 0 {
		t.Errorf("a topic that does not exist has %d messages, %v", len(got), err)
	}
}

// Looking for a missing topic does not create it, also if brokers create topics.
func TestTopicsAreFound(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		b, topic, absent := openBus(t, kafkabus.Config{}, url), name("topic"), name("topic")
		require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{driver.RedriveGroup}}))
		for range 2 {
			for name, want := range map[string]bool{topic: true, absent: false} {
				if found, err := b.Topics(t.Context(), name); err != nil || (len(found) == 1) != want {
					t.Errorf("Topics(%s) is %v, %v; want %t", name, found, err, want)
				}
			}
		}
		all, err := b.Topics(t.Context())
		if err != nil || !slices.Contains(all, topic) || slices.Contains(all, absent) {
			t.Errorf("Topics() is %v, %v", all, err)
		}
	})
}

// With autocreate=false only Declare creates topics. Callers wait for a missing topic,
// which an operator creates.
func TestAutocreate(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		b, topic := openBus(t, kafkabus.Config{}, url+"?autocreate=false"), name("topic")
		m := keyed("k", "1")
		missing := map[string]error{"publish": b.Publisher().Publish(topic, m)}
		_, missing["subscribe"] = subscriber(t, b, name("group"), 1).Subscribe(t.Context(), topic)
		for what, err := range missing {
			if fault.Of(err) != fault.Infrastructure || !strings.Contains(err.Error(), topic) || !strings.Contains(err.Error(), "kafka-topics --create") {
				t.Errorf("%s: %v (%v)", what, err, fault.Of(err))
			}
		}
		if err := b.Publisher().Publish("no/such", m); fault.Of(err) != fault.Permanent {
			t.Errorf("a name that Kafka does not take: %v (%v)", err, fault.Of(err))
		}
		if found, err := b.Topics(t.Context(), topic); err != nil || len(found) != 0 {
			t.Fatalf("the topic was made: %v", err)
		}
		require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic}))
		publish(t, b, topic, m)
		expect(t, subscribe(t, subscriber(t, b, name("group"), 1), topic), "1")

		// Created by another program.
		topic = name("topic")
		require.NoError(t, openBus(t, kafkabus.Config{}, url).Declare(t.Context(), bus.Topic{Name: topic}))
		publish(t, b, topic, m)
	})
}
