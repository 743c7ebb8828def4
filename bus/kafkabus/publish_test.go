package kafkabus_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// payloads returns the messages of a topic, by key.
func payloads(t *testing.T, b *bus.Bus, topic string) map[string][]string {
	t.Helper()
	all, err := b.Browse(t.Context(), topic, 1_000_000)
	require.NoError(t, err)
	out := map[string][]string{}
	for _, m := range all {
		out[event.Key(m)] = append(out[event.Key(m)], string(m.Payload))
	}
	return out
}

// accepted publishes until the brokers accept the message, for a short PublishTimeout, and
// returns how many calls failed.
func accepted(t *testing.T, b *bus.Bus, topic string, m *message.Message) (failed int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; failed++ {
		err := b.Publisher().Publish(topic, m)
		if err == nil {
			return failed
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// onlyProduce are the keys of produce requests.
var onlyProduce = []kmsg.Key{kmsg.Produce}

// Brokers answer with many kinds of errors, also after they have stored a batch, leaders
// move, connections break; callers publish concurrently, one message or many per call.
// Every message is in the topic once, in order.
func TestPublishUnderFaults(t *testing.T) {
	t.Parallel()
	pass := []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.LeaderNotAvailable, kerr.NotEnoughReplicas, kerr.KafkaStorageError, kerr.UnknownTopicOrPartition,
	}
	for name, faults := range map[string][]*kerr.Error{
		"some leave the outcome open":   append(slices.Clone(pass), kerr.NotEnoughReplicasAfterAppend, kerr.RequestTimedOut),
		"some are final for the client": append(slices.Clone(pass), kerr.UnknownServerError, kerr.CorruptMessage),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			publishUnderFaults(t, faults)
		})
	}
}

func publishUnderFaults(t *testing.T, faults []*kerr.Error) {
	c := fake(t, kfake.NumBrokers(3))
	b := openBus(t, kafkabus.Config{Replication: 3}, urlOf(c))
	topic := name("topic")
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Partitions: 6}))
	const callers, calls = 8, 60
	ctx, stop := context.WithCancel(t.Context())
	var chaos sync.WaitGroup
	met := 0
	through := make(chan struct{}, 1) // a call succeeded since
	chaos.Go(func() {
		for ctx.Err() == nil {
			switch n := rand.IntN(len(faults) + 2); n {
			case len(faults):
				c.ShufflePartitionLeaders()
			case len(faults) + 1:
				// The batch does not arrive, and the connection is closed.
				cut := make(chan struct{})
				c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
					close(cut)
					return nil, errors.New("cut"), true
				})
				select {
				case <-cut:
				case <-ctx.Done():
					return
				}
			default:
				h := c.Fault(kfake.Fault{Keys: onlyProduce, Topic: topic, Err: faults[n], Count: 1 + rand.IntN(2)})
				if h.Wait(ctx, 1) != nil {
					h.Remove()
					return
				}
			}
			met++
			select {
			case <-through:
			default:
			}
			select {
			case <-through:
			case <-ctx.Done():
			}
		}
	})
	var wg sync.WaitGroup
	want := make([]int, callers)
	for caller := range callers {
		wg.Go(func() {
			// Two keys each, in calls of 1 to 20 messages.
			for range calls {
				var batch []*message.Message
				for range 1 + rand.IntN(8) {
					want[caller]++
					for _, key := range []string{"a", "b"} {
						batch = append(batch, keyed(fmt.Sprint(key, caller), strconv.Itoa(want[caller])))
					}
				}
				assert.NoError(t, b.Publisher().Publish(topic, batch...))
				select {
				case through <- struct{}{}:
				default:
				}
			}
		})
	}
	wg.Wait()
	stop()
	chaos.Wait()
	if t.Logf("%d faults were met", met); met < 20 {
		t.Error("that is too few to prove anything")
	}
	got := payloads(t, b, topic)
	for caller := range callers {
		for _, key := range []string{"a", "b"} {
			have := got[fmt.Sprint(key, caller)]
			if len(have) != want[caller] {
				t.Errorf("key %s%d has %d messages, want %d", key, caller, len(have), want[caller])
				continue
			}
			for i, p := range have {
				if p != strconv.Itoa(i+1) {
					t.Errorf("key %s%d: message %d is %s", key, caller, i+1, p)
					break
				}
			}
		}
	}
}

// Brokers that have lost the state of the producer do not stop it.
func TestLostProducerState(t *testing.T) {
	t.Parallel()
	c := fake(t)
	b := openBus(t, kafkabus.Config{}, urlOf(c))
	topic := name("topic")
	var want []string
	for i, lost := range []*kerr.Error{
		kerr.OutOfOrderSequenceNumber, kerr.UnknownProducerID, kerr.InvalidProducerEpoch, kerr.InvalidProducerIDMapping, kerr.ProducerFenced,
	} {
		h := c.Fault(kfake.Fault{Keys: onlyProduce, Topic: topic, Err: lost})
		for range 3 {
			want = append(want, strconv.Itoa(len(want)))
			publish(t, b, topic, keyed("k", want[len(want)-1]))
		}
		assert.Equalf(t, 1, h.Hits(), "fault %d was not met", i)
	}
	if got := payloads(t, b, topic)["k"]; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the key has %v, want %v", got, want)
	}
}

// A message that the brokers refuse fails alone, in a batch of many callers, and later ones
// of its key and call are not published.
func TestRefusedMessageFailsAlone(t *testing.T) {
	t.Parallel()
	t.Run("in a batch of its own", func(t *testing.T) {
		both(t, func(t *testing.T, url string) { refusedMessage(t, url, 3<<20) })
	})
	t.Run("in a batch with others", func(t *testing.T) {
		t.Parallel()
		refusedMessage(t, urlOf(fake(t, kfake.BrokerConfigs(map[string]string{"message.max.bytes": "10000"}))), 50_000)
	})
}

func refusedMessage(t *testing.T, url string, size int) {
	b := openBus(t, kafkabus.Config{}, url)
	topic := name("topic")
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Partitions: 1}))
	huge := make([]byte, size)
	for i := range huge {
		huge[i] = byte(rand.Uint32()) // does not compress
	}
	call := []*message.Message{
		keyed("a", "a1"), keyed("b", "b1"), keyed("a", string(huge)), keyed("b", "b2"), keyed("a", "a3"), keyed("c", "c1"), keyed("a", "a4"),
	}
	var wg sync.WaitGroup
	wg.Go(func() { // in the same batches
		for n := range 50 {
			assert.NoError(t, b.Publisher().Publish(topic, keyed("other", strconv.Itoa(n))))
		}
	})
	err := b.Publisher().Publish(topic, call...)
	wg.Wait()
	var failed *bus.PublishError
	require.Truef(t, errors.As(err, &failed), "got %v, want a PublishError", err)
	p, r, n := driver.Published, driver.Refused, driver.NotSent
	if want := []driver.Outcome{p, p, r, p, n, p, n}; fmt.Sprint(failed.Outcomes) != fmt.Sprint(want) {
		t.Errorf("outcomes are %v, want %v", failed.Outcomes, want)
	}
	if failed.First != 2 || failed.ID != call[2].UUID || failed.Topic != topic || fault.Of(err) != fault.Permanent {
		t.Errorf("the error is %v (first %d, %v)", err, failed.First, fault.Of(err))
	}
	if fmt.Sprint(failed.Unpublished()) != "[2 4 6]" || failed.Published(2) || !failed.Published(0) || failed.Published(-1) {
		t.Errorf("unpublished are %v", failed.Unpublished())
	}
	if !strings.Contains(err.Error(), "3 of 7") || !strings.Contains(err.Error(), call[2].UUID) {
		t.Errorf("the error says %q", err)
	}
	got := payloads(t, b, topic)
	if fmt.Sprint(got["a"]) != "[a1]" || fmt.Sprint(got["b"]) != "[b1 b2]" || len(got["other"]) != 50 {
		t.Errorf("the topic has %v", got)
	}
}

// A batch with an unknown outcome is reported as such, and does not make the brokers take
// the next batch for a repetition.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	c := fake(t)
	b := openBus(t, kafkabus.Config{PublishTimeout: 2 * time.Second}, urlOf(c))
	topic := name("topic")
	repeated := accepted(t, b, topic, keyed("k", "0"))
	// The broker stores it, and answers that it has timed out, again and again.
	h := c.Fault(kfake.Fault{Keys: onlyProduce, Topic: topic, Err: kerr.RequestTimedOut, Count: -1})
	err := b.Publisher().Publish(topic, keyed("k", "1"))
	h.Remove()
	var failed *bus.PublishError
	if !errors.As(err, &failed) || fault.Of(err) != fault.Infrastructure {
		t.Fatalf("got %v (%v), want a PublishError of infrastructure", err, fault.Of(err))
	}
	assert.Equal(t, driver.Unknown, failed.Outcomes[0], "the message")
	if !strings.Contains(err.Error(), "2s") || !strings.Contains(err.Error(), "time") {
		t.Errorf("the error says %q", err)
	}
	repeated += accepted(t, b, topic, keyed("k", "3"))
	repeated += accepted(t, b, topic, keyed("k", "4"))
	got := payloads(t, b, topic)["k"]
	if repeated > 0 { // a batch that took too long may have been stored
		got = slices.Compact(got)
	}
	assert.Equalf(t, "[0 1 3 4]", fmt.Sprint(got), "the key has %v, want what was stored and what came after", got)
}

// The end of a message's context ends the call; messages that were not sent then are not
// sent later.
func TestContextEndsPublish(t *testing.T) {
	t.Parallel()
	c := fake(t)
	b := openBus(t, kafkabus.Config{}, urlOf(c))
	topic := name("topic")
	publish(t, b, topic, keyed("k", "0"))

	// The first call waits for its answer, the second waits behind it.
	reached := make(chan struct{})
	var once sync.Once
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		once.Do(func() { close(reached) })
		return kmsg.NewPtrProduceResponse(), nil, true // without a word about the partition
	})
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		m := keyed("k", "1")
		m.SetContext(ctx)
		first <- b.Publisher().Publish(topic, m)
	}()
	<-reached
	kafkabus.AwaitWaiting(t, b.Driver(), 1)
	go func() {
		m := keyed("k", "2")
		m.SetContext(ctx)
		second <- b.Publisher().Publish(topic, m)
	}()
	kafkabus.AwaitWaiting(t, b.Driver(), 2)
	cancel()
	for i, ch := range []chan error{first, second} {
		err := <-ch
		var failed *bus.PublishError
		if !errors.As(err, &failed) || !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want a cancelled PublishError", err)
		}
		if want := []driver.Outcome{driver.Unknown, driver.NotSent}[i]; failed.Outcomes[0] != want {
			t.Errorf("call %d: the outcome is %s, want %s", i+1, failed.Outcomes[0], want)
		}
	}
	c.DropControl()
}

// No more than PublishBuffer waits in memory.
func TestPublishBuffer(t *testing.T) {
	t.Parallel()
	c := fake(t)
	b := openBus(t, kafkabus.Config{PublishBuffer: 10_000, PublishTimeout: 2 * time.Second}, urlOf(c))
	topic := name("topic")
	accepted(t, b, topic, keyed("k", "0"))
	h := c.Fault(kfake.Fault{Keys: onlyProduce, Topic: topic, Err: kerr.NotEnoughReplicas, Count: -1})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := b.Publisher().Publish(topic, keyed("k", strings.Repeat("x", 4000))); fault.Of(err) != fault.Infrastructure {
				t.Errorf("got %v, want an infrastructure error", err)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		wg.Wait()
	}()
	for most, over := 0, false; !over; {
		select {
		case <-done:
			over = true
			assert.Equal(t, 2, most, "messages of 4 kB were in memory")
		case <-time.After(time.Millisecond):
			most = max(most, kafkabus.Waiting(b.Driver()))
		}
	}
	h.Remove()
	// A call that is bigger than the buffer is published alone.
	accepted(t, b, topic, keyed("k", strings.Repeat("x", 40_000)))
	accepted(t, b, topic, keyed("k", "1"))
}

// While a cluster does not answer, Close ends calls of Publish in flight.
func TestCloseEndsPublishing(t *testing.T) {
	t.Parallel()
	c := fake(t)
	b, err := bus.Open(t.Context(), urlOf(c), kafkabus.Scheme(kafkabus.Config{Logger: quiet}))
	require.NoError(t, err)
	publish(t, b, "topic", keyed("k", "0"))
	c.Fault(kfake.Fault{Keys: onlyProduce, Topic: "topic", Err: kerr.NotEnoughReplicas, Count: -1})
	done := make(chan error, 1)
	go func() { done <- b.Driver().Publisher().Publish("topic", keyed("k", "1")) }()
	kafkabus.AwaitWaiting(t, b.Driver(), 1)
	start := time.Now()
	assert.NoError(t, b.Close())
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("Close took %v", took)
	}
	assert.ErrorIs(t, <-done, bus.ErrClosed)
}

// A topic that was deleted is created again by the next message.
func TestDeletedTopicIsMadeAgain(t *testing.T) {
	t.Parallel()
	c := fake(t)
	b := openBus(t, kafkabus.Config{PublishTimeout: time.Second}, urlOf(c))
	topic := name("topic")
	accepted(t, b, topic, keyed("k", "0"))
	require.NoError(t, c.DeleteTopic(topic))
	accepted(t, b, topic, keyed("k", "1"))
	if got := payloads(t, b, topic)["k"]; len(got) == 0 {
		t.Error("the topic is empty")
	}
}

// The same call publishes to a topic that was deleted, and to one that was recreated with
// another number of partitions.
func TestTopicChangesUnderPublisher(t *testing.T) {
	t.Parallel()
	c := fake(t, kfake.NumBrokers(3))
	b := openBus(t, kafkabus.Config{}, urlOf(c))
	deleted, remade := name("topic"), name("topic")
	for _, topic := range []string{deleted, remade} {
		publish(t, b, topic, keyed("a", "0"), keyed("b", "0"), keyed("c", "0"))
		require.NoError(t, c.DeleteTopic(topic))
	}
	require.NoError(t, c.CreateTopic(remade, 5, nil))
	for _, topic := range []string{deleted, remade} {
		publish(t, b, topic, keyed("a", "1"), keyed("b", "1"), keyed("c", "1"))
		publish(t, b, topic, keyed("a", "2"), keyed("d", "2"))
		assert.Equal(t, "map[a:[1 2] b:[1] c:[1] d:[2]]", fmt.Sprint(payloads(t, b, topic)), "the topic")
	}
}

// A refused producer id is requested again: permissions can be granted later.
func TestProducerIDRefused(t *testing.T) {
	t.Parallel()
	c := fake(t)
	b := openBus(t, kafkabus.Config{}, urlOf(c))
	topic := name("topic")
	h := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, TopLevel: true, Err: kerr.ClusterAuthorizationFailed, Count: -1})
	for range 2 {
		err := b.Publisher().Publish(topic, keyed("k", "1"))
		var failed *bus.PublishError
		if !errors.As(err, &failed) || failed.Outcomes[0] != driver.Refused || fault.Of(err) != fault.Infrastructure {
			t.Errorf("without permission: %v (%v)", err, fault.Of(err))
		}
	}
	h.Remove()
	accepted(t, b, topic, keyed("k", "2"))
	if got := payloads(t, b, topic)["k"]; fmt.Sprint(got) != "[2]" {
		t.Errorf("the key has %v", got)
	}
}

// While a partition has no leader, its messages are not sent, and the error gives the reason.
func TestNoLeader(t *testing.T) {
	t.Parallel()
	c := fake(t)
	b := openBus(t, kafkabus.Config{PublishTimeout: 2 * time.Second}, urlOf(c))
	topic := name("topic")
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Partitions: 2}))
	// The leader of one partition refuses, and then the client learns that both have none.
	refusing := c.Fault(kfake.Fault{Keys: onlyProduce, Topic: topic, Partitions: []int32{0}, Err: kerr.NotLeaderForPartition, Count: -1})
	lost := c.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Metadata}, Topic: topic, Partitions: []int32{0, 1}, Err: kerr.LeaderNotAvailable, Count: -1,
		When: func(kmsg.Request) bool { return refusing.Hits() > 0 },
	})
	try := func(n string) string {
		var all []*message.Message
		for k := range 8 {
			all = append(all, keyed(fmt.Sprint("k", k), n))
		}
		err := b.Publisher().Publish(topic, all...)
		var failed *bus.PublishError
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), "LEADER") {
			t.Fatalf("got %v, want a PublishError that names the trouble", err)
		}
		slices.Sort(failed.Outcomes)
		return fmt.Sprint(slices.Compact(failed.Outcomes))
	}
	assert.Equal(t, "[published unknown]", try("1"), "first the messages")
	assert.Equal(t, "[not sent]", try("2"), "then the messages")
	refusing.Remove()
	lost.Remove()
	accepted(t, b, topic, keyed("k", "3"))
}

func TestPublishErrors(t *testing.T) {
	t.Parallel()
	c := fake(t)
	b := openBus(t, kafkabus.Config{}, urlOf(c))
	pub := b.Driver().Publisher()
	reserved := keyed("k", "2")
	reserved.Metadata.Set("_watermill_message_uuid", "x")
	for what, err := range map[string]error{
		"a name that Kafka does not take": pub.Publish("no/such", keyed("k", "1")),
		"metadata that is reserved":       pub.Publish("topic", keyed("k", "1"), reserved),
	} {
		if fault.Of(err) != fault.Permanent {
			t.Errorf("%s: %v (%v), want permanent", what, err, fault.Of(err))
		}
	}
	if got := payloads(t, b, "topic"); len(got) != 0 {
		t.Errorf("of a call with a malformed message %v was published", got)
	}
	c.Fault(kfake.Fault{Keys: onlyProduce, Topic: "topic", Err: kerr.TopicAuthorizationFailed})
	err := pub.Publish("topic", keyed("k", "1"))
	var failed *bus.PublishError
	if !errors.As(err, &failed) || failed.Outcomes[0] != driver.Refused || fault.Of(err) != fault.Infrastructure {
		t.Errorf("without permission: %v (%v)", err, fault.Of(err))
	}
	publish(t, b, "topic", keyed("k", "1"))
	require.NoError(t, b.Close())
	assert.ErrorIs(t, pub.Publish("topic", keyed("k", "1")), bus.ErrClosed, "after Close")
	assert.NoError(t, pub.Publish("topic"), "nothing to publish")
	for o, want := range map[driver.Outcome]string{driver.Published: "published", driver.Refused: "refused",
		driver.NotSent: "not sent", driver.Unknown: "unknown", 9: "Outcome(9)"} {
		assert.Equalf(t, want, o.String(), "%d is %q", uint8(o), o)
	}
}
