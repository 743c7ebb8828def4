package rediswatermill_test

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/bus/redisbus/rediswatermill"
)

func TestURLs(t *testing.T) {
	for _, good := range []string{"redis://h/0?mode=watermill", "rediss://u:p@h1,h2/?mode=watermill&cluster=true", "redis://h/?mode=watermill&master=m"} {
		b := openBus(t, good)
		assert.NoErrorf(t, b.Close(), "%s: close", good)
	}
	for bad, want := range map[string]string{
		"redis://h/?mode=watermill&prefix=p":     `"prefix"`,
		"redis://h/?mode=watermill&partitions=1": `"partitions"`,
		"redis://h/?mode=watermill&retention=1h": `"retention"`,
		"redis://h/?mode=watermill&maxlen=1":     `"maxlen"`,
		"redis://h/?mode=watermill&wait=1":       `"wait"`,
		"redis://h/?mode=watermill&what=1":       `"what"`,
		"redis://u:s3cret@h/x?mode=watermill":    "database",
		"redis://h/?mode=tx":                     "mode=watermill",
	} {
		b, err := bus.Open(t.Context(), bad, schemes(rediswatermill.Config{})...)
		if err == nil {
			t.Errorf("%s was opened: %v", bad, b.Close())
		} else if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v, want an error with %s", bad, err, want)
		}
	}
	_, err := bus.Open(t.Context(), "redis://h/?mode=watermill", redisbus.Scheme(redisbus.Config{}))
	if err == nil || !strings.Contains(err.Error(), "rediswatermill") {
		t.Errorf("without the package: %v", err)
	}
	if _, err := bus.Open(t.Context(), "redis://h/?mode=watermill", schemes(rediswatermill.Config{MaxIdle: -1})...); err == nil || !strings.Contains(err.Error(), "MaxIdle") {
		t.Errorf("a negative MaxIdle: %v", err)
	}
}

// expect receives messages n to m, each of which may be repeated, and acknowledges them.
func expect(t *testing.T, ch <-chan *message.Message, n, to int) {
	t.Helper()
	for n <= to {
		m := next(t, ch, n)
		if got, err := strconv.Atoi(string(m.Payload)); err != nil || got > n {
			t.Fatalf("got %s, want %d", m.Payload, n)
		} else if got == n {
			n++
		}
		m.Ack()
	}
}

func next(t *testing.T, ch <-chan *message.Message, n int) *message.Message {
	t.Helper()
	select {
	case m, ok := <-ch:
		require.Truef(t, ok, "the channel was closed before %d", n)
		return m
	case <-time.After(20 * time.Second):
		t.Fatalf("%d has not come", n)
	}
	return nil
}

func send(t *testing.T, to message.Publisher, topic string, n, last int) {
	t.Helper()
	for ; n <= last; n++ {
		require.NoError(t, to.Publish(topic, message.NewMessage(uuid.NewString(), []byte(strconv.Itoa(n)))))
	}
}

func subscribed(t *testing.T, s message.Subscriber, err error, topic string) (message.Subscriber, <-chan *message.Message) {
	t.Helper()
	require.NoError(t, err)
	ch, err := s.Subscribe(context.Background(), topic)
	require.NoError(t, err)
	return s, ch
}

func ours(t *testing.T, b *bus.Bus, topic string) (message.Subscriber, <-chan *message.Message) {
	t.Helper()
	s, err := b.Subscriber("billing", bus.SubscriberConfig{})
	return subscribed(t, s, err, topic)
}

// TestSharesAGroupWithWatermill starts a fleet of Watermill alone. Our process joins it,
// takes over, and leaves.
func TestSharesAGroupWithWatermill(t *testing.T) {
	raw, client := server(t)
	topic := topic(t, client)
	b := openBus(t, inMode(t, raw))
	defer b.Close() //nolint:errcheck // of a test
	theirs := func() (message.Subscriber, <-chan *message.Message) {
		t.Helper()
		options, err := redis.ParseURL(raw)
		require.NoError(t, err)
		s, err := redisstream.NewSubscriber(redisstream.SubscriberConfig{
			Client: redis.NewClient(options), ConsumerGroup: "billing", Consumer: uuid.NewString(), // it closes the client
			DisableIndefiniteInitialBlock: true, // its reader would outlive it
		}, watermill.NopLogger{})
		return subscribed(t, s, err, topic)
	}
	first, ch := theirs()
	send(t, b.Publisher(), topic, 1, 3)
	expect(t, ch, 1, 3)
	sub, in := ours(t, b, topic)          // joins
	if err := first.Close(); err != nil { // with none in flight: Watermill's own returns nothing
		t.Fatal(err)
	}
	send(t, b.Publisher(), topic, 4, 7)
	expect(t, in, 4, 5) // it has taken over
	began := time.Now()
	next(t, in, 6)
	if err := sub.Close(); err != nil { // and leaves, with a message in flight
		t.Fatal(err)
	}
	second, ch := theirs()
	expect(t, ch, 6, 7)
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("taking over what was in hand took %s", took)
	}
	require.NoError(t, second.Close())
}

// TestWhatIsInHandIsKept has a slow handler: another member could take its message over.
func TestWhatIsInHandIsKept(t *testing.T) {
	raw, client := server(t)
	topic := topic(t, client)
	const idle = 600 * time.Millisecond
	open := func() *bus.Bus {
		b, err := bus.Open(t.Context(), inMode(t, raw), schemes(rediswatermill.Config{MaxIdle: idle})...)
		require.NoError(t, err)
		return b
	}
	b, other := open(), open()
	defer b.Close()     //nolint:errcheck // of a test
	defer other.Close() //nolint:errcheck // of a test
	slow, in := ours(t, b, topic)
	send(t, b.Publisher(), topic, 1, 1)
	m := next(t, in, 1)
	_, stolen := ours(t, other, topic)
	select {
	case m := <-stolen:
		t.Errorf("another member has taken over message %s, which is being handled", m.Payload)
	case <-time.After(5 * idle):
	}
	m.Ack()
	assert.NoError(t, slow.Close())
	send(t, b.Publisher(), topic, 2, 2)
	expect(t, stolen, 2, 2)
}

// TestForeignEntries consumes entries that no publisher of Watermill has written.
func TestForeignEntries(t *testing.T) {
	raw, client := server(t)
	topic := topic(t, client)
	b := openBus(t, inMode(t, raw))
	defer b.Close() //nolint:errcheck // of a test
	noise := rand.Text()
	for _, values := range []any{
		[]string{"field", "value"},
		[]string{redisstream.UUIDHeaderKey, "1", "payload", "p", "metadata", "\xc1" + noise},
	} {
		require.NoError(t, client.XAdd(t.Context(), &redis.XAddArgs{Stream: topic, Values: values}).Err())
	}
	_, ch := ours(t, b, topic)
	for _, want := range []string{"", "p"} {
		m := next(t, ch, 0)
		if string(m.Payload) != want {
			t.Errorf("got %q, want %q", m.Payload, want)
		}
		m.Ack()
	}
	send(t, b.Publisher(), topic, 1, 1)
	expect(t, ch, 1, 1)
}
