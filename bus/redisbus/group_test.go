package redisbus_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/redistest"
)

// groupOf returns a group as Redis's own tools show it.
func groupOf(t *testing.T, p place, stream, group string) redis.XInfoGroup {
	t.Helper()
	all, err := p.client.XInfoGroups(t.Context(), stream).Result()
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(g redis.XInfoGroup) bool { return g.Name == group })
	if i < 0 {
		t.Fatalf("%s has no group %s, only %v", stream, group, all)
	}
	return all[i]
}

// The lag in XINFO GROUPS is the number of unacknowledged messages, at every moment and
// without counting.
func TestNativeLag(t *testing.T) {
	p := single(t)
	b := open(t, redisbus.Config{Partitions: 2}, p.url)
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "topic", Groups: []string{"group", "other"}}))
	var messages []*message.Message
	for n := range 10 {
		messages = append(messages, keyed("", fmt.Sprint(n))) // keyless ones go to the first partition
	}
	publish(t, b, "topic", messages...)
	ch := subscribe(t, b, "group", "topic", 100)
	for n := range messages {
		receive(t, ch).Ack()
		want := int64(len(messages) - 1 - n)
		redistest.Until(t, fmt.Sprint("lag ", want), func() bool { return groupOf(t, p, p.stream("topic", "0"), "group").Lag == want })
	}
	assert.EqualValues(t, 10, groupOf(t, p, p.stream("topic", "0"), "other").Lag, "the other group's lag")
	assert.EqualValues(t, 0, groupOf(t, p, p.stream("topic", "1"), "group").Lag, "the lag on the other partition")
}

// Lag also works in the middle of a stream, where Redis cannot count by itself: here
// another program's reader stood before.
func TestLagByCounting(t *testing.T) {
	p := single(t)
	b := open(t, redisbus.Config{Partitions: 1}, p.url)
	stream := p.prefix + "topic"
	var ids []string
	for n := range 1300 {
		id, err := p.client.XAdd(t.Context(), &redis.XAddArgs{Stream: stream, Values: []any{"payload", n}}).Result()
		require.NoError(t, err)
		ids = append(ids, id)
	}
	require.NoError(t, p.client.XGroupCreate(t.Context(), stream, "group", ids[99]).Err())
	require.NoError(t, p.client.XDel(t.Context(), stream, ids[200]).Err())
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "topic", Groups: []string{"group"}}))
	lags, err := b.Lag(t.Context())
	if err != nil || len(lags) != 1 || lags[0].Messages != 1199 {
		t.Fatalf("lag is %+v (%v), want 1199", lags, err)
	}
	if age := time.Since(lags[0].Oldest); age < 0 || age > time.Minute {
		t.Errorf("the oldest is %s old", age)
	}
}

// Messages that a consumer of XREADGROUP has taken and not acknowledged are reclaimed when
// a group moves over: its pending list is empty afterwards.
func TestPendingIsReclaimed(t *testing.T) {
	p := single(t)
	b := open(t, redisbus.Config{Partitions: 1}, p.url)
	stream := p.prefix + "topic"
	for n := range 10 {
		publish(t, b, "topic", keyed("k", fmt.Sprint(n)))
	}
	require.NoError(t, p.client.XGroupCreate(t.Context(), stream, "group", "0").Err())
	read, err := p.client.XReadGroup(t.Context(), &redis.XReadGroupArgs{
		Group: "group", Consumer: "died", Streams: []string{stream, ">"}, Count: 8,
	}).Result()
	require.NoError(t, err)
	for i, m := range read[0].Messages {
		if i == 3 || i == 6 {
			continue // never acknowledged
		}
		require.NoError(t, p.client.XAck(t.Context(), stream, "group", m.ID).Err())
	}
	lags, err := b.Lag(t.Context())
	if err != nil || len(lags) != 1 || lags[0].Messages != 4 {
		t.Errorf("the lag before is %+v (%v), want 4: two pending, two not read", lags, err)
	}
	ch := subscribe(t, b, "group", "topic", 100)
	for n := 3; n < 10; n++ { // from the first one that was not acknowledged
		m := receive(t, ch)
		if string(m.Payload) != fmt.Sprint(n) {
			t.Fatalf("got %s, want %d", m.Payload, n)
		}
		m.Ack()
	}
	redistest.Until(t, "all is done", func() bool {
		g := groupOf(t, p, stream, "group")
		return g.Pending == 0 && g.Lag == 0
	})
}

// A group's unacknowledged messages can be browsed, oldest first, and stay.
func TestPendingIsShown(t *testing.T) {
	p := single(t)
	b := open(t, redisbus.Config{Partitions: 2}, p.url)
	show := func(group string, limit int, want ...string) {
		t.Helper()
		all, err := b.Pending(t.Context(), "topic", group, limit)
		require.NoError(t, err)
		var got []string
		for _, m := range all {
			got = append(got, string(m.Payload))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has %v pending, want %v", group, got, want)
		}
	}
	show("group", 10)
	for n := range 6 {
		m := keyed("", fmt.Sprint(n)) // in the first partition
		if n%2 == 1 {
			m = keyed("b", fmt.Sprint(n)) // in the second
		}
		publish(t, b, "topic", m)
		// Ids of different partitions are in the order of milliseconds only, and Redis
		// makes them from the last reading of its clock.
		published := p.client.Time(t.Context()).Val().UnixMilli()
		redistest.Until(t, "a later millisecond", func() bool { return p.client.Time(t.Context()).Val().UnixMilli() > published+5 })
	}
	show("nobody", 10, "0", "1", "2", "3", "4", "5")
	ch := subscribe(t, b, "group", "topic", 100)
	for range 6 {
		if m := receive(t, ch); string(m.Payload) == "0" || string(m.Payload) == "1" {
			m.Ack()
		}
	}
	redistest.Until(t, "two are done", func() bool {
		return groupOf(t, p, p.stream("topic", "0"), "group").Lag == 2 && groupOf(t, p, p.stream("topic", "1"), "group").Lag == 2
	})
	show("group", 10, "2", "3", "4", "5")
	show("group", 3, "2", "3", "4")
}

// Watermill's own publisher and subscriber work on the same streams.
func TestWatermillReadsAndWrites(t *testing.T) {
	p := single(t)
	b := open(t, redisbus.Config{Partitions: 1, PollInterval: 20 * time.Millisecond}, p.url)
	topic := p.prefix + "topic"
	pub, err := redisstream.NewPublisher(redisstream.PublisherConfig{Client: p.client}, watermill.NopLogger{})
	require.NoError(t, err)
	theirs := keyed("k", "theirs")
	theirs.Metadata.Set("empty", "")
	require.NoError(t, pub.Publish(topic, theirs))
	ours := keyed("k", "ours")
	publish(t, b, "topic", ours)

	ch := subscribe(t, b, "group", "topic", 10)
	for _, want := range []*message.Message{theirs, ours} {
		m := receive(t, ch)
		if m.UUID != want.UUID || !m.Equals(want) || event.Key(m) != "k" {
			t.Errorf("we got %s %q %v, want %s %q %v", m.UUID, m.Payload, m.Metadata, want.UUID, want.Payload, want.Metadata)
		}
		m.Ack()
	}
	sub, err := redisstream.NewSubscriber(redisstream.SubscriberConfig{
		Client: p.client, ConsumerGroup: "theirs", OldestId: "0", BlockTime: 10 * time.Millisecond,
	}, watermill.NopLogger{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	got, err := sub.Subscribe(ctx, topic)
	require.NoError(t, err)
	for _, want := range []*message.Message{theirs, ours} {
		m := receive(t, got)
		if m.UUID != want.UUID || !m.Equals(want) {
			t.Errorf("Watermill got %s %q %v, want %s %q %v", m.UUID, m.Payload, m.Metadata, want.UUID, want.Payload, want.Metadata)
		}
		m.Ack()
	}
	cancel()
	for range got { //nolint:revive // until it is closed
	}

	// A group that was ours continues with Watermill from its place.
	redistest.Until(t, "our group has done all", func() bool { return groupOf(t, p, topic, "group").Lag == 0 })
}

// An entry that is not Watermill's arrives with the fields that it has.
func TestForeignEntries(t *testing.T) {
	p := single(t)
	b := open(t, redisbus.Config{Partitions: 1, PollInterval: 20 * time.Millisecond}, p.url)
	ch := subscribe(t, b, "group", "topic", 10)
	id, err := p.client.XAdd(t.Context(), &redis.XAddArgs{Stream: p.prefix + "topic", Values: []any{"payload", "by hand"}}).Result()
	require.NoError(t, err)
	m := receive(t, ch)
	if m.UUID != id || string(m.Payload) != "by hand" || len(m.Metadata) != 0 {
		t.Errorf("got %s %q %v", m.UUID, m.Payload, m.Metadata)
	}
	m.Ack()
	_, err = p.client.XAdd(t.Context(), &redis.XAddArgs{Stream: p.prefix + "topic",
		Values: []any{"_watermill_message_uuid", "id", "metadata", "no msgpack", "payload", "x"}}).Result()
	require.NoError(t, err)
	m = receive(t, ch)
	if m.UUID != "id" || string(m.Payload) != "x" || len(m.Metadata) != 0 {
		t.Errorf("got %s %q %v", m.UUID, m.Payload, m.Metadata)
	}
	m.Ack()
	if all, err := b.Browse(t.Context(), "topic", 10); err != nil || len(all) != 2 {
		t.Errorf("browse shows %d messages (%v), want 2", len(all), err)
	}
}

// A group that an operator destroys during reading is created again at the reader's place.
func TestDestroyedGroup(t *testing.T) {
	p := single(t)
	b := open(t, redisbus.Config{Partitions: 1}, p.url)
	ch := subscribe(t, b, "group", "topic", 10)
	publish(t, b, "topic", keyed("k", "1"), keyed("k", "2"))
	receive(t, ch).Ack()
	stream := p.prefix + "topic"
	redistest.Until(t, "the first is done", func() bool { return groupOf(t, p, stream, "group").Lag == 1 })
	require.NoError(t, p.client.XGroupDestroy(t.Context(), stream, "group").Err())
	receive(t, ch).Ack()
	publish(t, b, "topic", keyed("k", "3"))
	if m := receive(t, ch); string(m.Payload) != "3" {
		t.Errorf("got %s, want 3", m.Payload)
	} else {
		m.Ack()
	}
	redistest.Until(t, "the group is there again, and all is done", func() bool {
		all, err := p.client.XInfoGroups(t.Context(), stream).Result()
		return err == nil && len(all) == 1 && all[0].Lag == 0
	})
}
