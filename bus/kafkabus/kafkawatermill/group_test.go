package kafkawatermill_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	wmkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// TestSharesAGroupWithWatermill starts a fleet of Watermill alone. Our process joins it,
// takes over, and leaves.
func TestSharesAGroupWithWatermill(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	brokers := servicetest.Kafka(t)
	b := openBus(t, "kafka://"+brokers+"/?mode=watermill&partitions=6")
	defer b.Close() //nolint:errcheck // of a test
	topic, group := "topic-"+uuid.NewString(), "group-"+uuid.NewString()
	require.NoError(t, b.Declare(ctx, bus.Topic{Name: topic}))
	c := wmkafka.DefaultSaramaSubscriberConfig()
	c.Version, c.Consumer.Offsets.Initial, c.Consumer.MaxWaitTime = sarama.V2_1_0_0, sarama.OffsetOldest, 50*time.Millisecond
	theirs := func() (message.Subscriber, <-chan *message.Message) {
		s, err := wmkafka.NewSubscriber(wmkafka.SubscriberConfig{
			Brokers: strings.Split(brokers, ","), Unmarshaler: wmkafka.DefaultMarshaler{}, ConsumerGroup: group, OverwriteSaramaConfig: c,
		}, watermill.NopLogger{})
		return subscribed(t, s, err, topic)
	}
	ours := func() (message.Subscriber, <-chan *message.Message) {
		s, err := b.Subscriber(group, bus.SubscriberConfig{})
		return subscribed(t, s, err, topic)
	}
	seen := &tally{at: map[string]int{}, more: make(chan struct{}, 10_000)}
	n := 0
	publish := func(each int) {
		t.Helper()
		for range each {
			n++
			for k := range 12 {
				m := message.NewMessage(uuid.NewString(), []byte(strconv.Itoa(n)))
				m.Metadata.Set(event.KeyHeader, "key-"+strconv.Itoa(k))
				require.NoError(t, b.Publisher().Publish(topic, m))
			}
		}
	}
	until := func(who string, more int) {
		t.Helper()
		seen.until(t, ctx, who, more)
	}
	s1, ch := theirs()
	go seen.take("theirs", ch)
	publish(5)
	until("theirs", 12*5)
	s2, ch := ours() // joins
	go seen.take("ours", ch)
	for seen.count("ours") == 0 { // until it has its share
		publish(1)
		seen.all(t, ctx, n, 12)
	}
	if err := s1.Close(); err != nil { // it takes over
		t.Fatal(err)
	}
	publish(5)
	seen.all(t, ctx, n, 12)
	s1, ch = theirs()
	go seen.take("theirs", ch)
	if err := s2.Close(); err != nil { // and leaves
		t.Fatal(err)
	}
	publish(5)
	seen.all(t, ctx, n, 12)
	require.NoError(t, s1.Close())
}

func subscribed(t *testing.T, s message.Subscriber, err error, topic string) (message.Subscriber, <-chan *message.Message) {
	t.Helper()
	require.NoError(t, err)
	ch, err := s.Subscribe(context.Background(), topic)
	require.NoError(t, err)
	return s, ch
}

// tally counts the handled messages: the highest number of each key, and how many messages
// each kind of member handled.
type tally struct {
	mu   sync.Mutex
	at   map[string]int
	by   map[string]int
	bad  []string
	more chan struct{}
}

// take handles messages. A message may be repeated, and none may be skipped.
func (s *tally) take(who string, ch <-chan *message.Message) {
	for m := range ch {
		n, _ := strconv.Atoi(string(m.Payload)) //nolint:errcheck // 0 is wrong below
		s.mu.Lock()
		if s.by == nil {
			s.by = map[string]int{}
		}
		s.by[who]++
		switch key := event.Key(m); {
		case n == s.at[key]+1:
			s.at[key] = n
		case n > s.at[key]:
			s.bad = append(s.bad, key+": "+strconv.Itoa(n)+" after "+strconv.Itoa(s.at[key]))
		}
		s.mu.Unlock()
		m.Ack()
		s.more <- struct{}{}
	}
}

func (s *tally) count(who string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[who]
}

// until waits until a kind of member has handled n messages.
func (s *tally) until(t *testing.T, ctx context.Context, who string, n int) {
	t.Helper()
	for s.count(who) < n {
		s.wait(t, ctx)
	}
}

// all waits until every key has reached n.
func (s *tally) all(t *testing.T, ctx context.Context, n, keys int) {
	t.Helper()
	for {
		s.mu.Lock()
		done := 0
		for _, at := range s.at {
			if at == n {
				done++
			}
		}
		bad := s.bad
		s.mu.Unlock()
		if len(bad) > 0 {
			t.Fatalf("passed over: %v", bad)
		}
		if done == keys {
			return
		}
		s.wait(t, ctx)
	}
}

func (s *tally) wait(t *testing.T, ctx context.Context) {
	t.Helper()
	select {
	case <-s.more:
	case <-ctx.Done():
		t.Fatalf("%v: handled %v, by %v", ctx.Err(), s.at, s.by)
	}
}
