package kafkabus_test

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
)

// keysOf returns a key of each of a topic's two partitions.
func keysOf(t *testing.T, c *kfake.Cluster, b *bus.Bus, topic string) (keys [2]string) {
	t.Helper()
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Partitions: 2}))
	for k := 0; keys[0] == "" || keys[1] == ""; k++ {
		key := strconv.Itoa(k)
		before := c.PartitionInfo(topic, 0).HighWatermark
		publish(t, b, topic, keyed(key, "find the partitions"))
		if c.PartitionInfo(topic, 0).HighWatermark > before {
			keys[0] = key
		} else {
			keys[1] = key
		}
	}
	return keys
}

// A partition that is not handled, with more records in memory than the limit, does not
// keep the others from new messages, and continues when it can.
func TestFullPartitionLeavesRoom(t *testing.T) {
	t.Parallel()
	c := fake(t)
	b := openBus(t, kafkabus.Config{}, urlOf(c))
	topic := name("topic")
	keys := keysOf(t, c, b, topic)
	const many = 1500
	var all []*message.Message
	for range many { // some 24 MB
		all = append(all, keyed(keys[0], string(bytes.Repeat([]byte("x"), 16<<10))))
	}
	ch := subscribe(t, subscriber(t, b, name("group"), 16), topic)
	for n := c.PartitionInfo(topic, 0).HighWatermark + c.PartitionInfo(topic, 1).HighWatermark; n > 0; n-- {
		receive(t, ch).Ack()
	}
	for part := range slices.Chunk(all, 100) { // a call has 30 s, however busy the machine is
		publish(t, b, topic, part...)
	}
	var held []*message.Message
	for range 14 {
		held = append(held, receive(t, ch))
	}
	for n := range 50 {
		want := fmt.Sprint("news", n)
		publish(t, b, topic, keyed(keys[1], want))
		expect(t, ch, want)
	}
	for _, m := range held {
		m.Ack()
	}
	for range many - len(held) {
		receive(t, ch).Ack()
	}
}

// However well a backlog is compressed, a slow consumer has little of it in memory.
func TestMemoryOfABacklog(t *testing.T) {
	c := fake(t)
	b := openBus(t, kafkabus.Config{Partitions: 3}, urlOf(c))
	topic := name("topic")
	for n := range 50 {
		var all []*message.Message
		for k := range 2000 {
			all = append(all, keyed(strconv.Itoa(k), string(bytes.Repeat([]byte{byte('a' + n%26)}, 1000))))
		}
		publish(t, b, topic, all...)
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	ch := subscribe(t, subscriber(t, b, name("group"), 100), topic)
	for range 100 { // the window: from now on the client fetches as much as it will
		receive(t, ch)
	}
	most := int64(0)
	for range 100 { // each collects the garbage, which takes some milliseconds
		most = max(most, heap()-before)
	}
	t.Logf("%d MB more", most>>20)
	require.LessOrEqual(t, most>>20, int64(32))
}
