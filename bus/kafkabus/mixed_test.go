package kafkabus_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/event"
)

// before is a group member as in the previous release: with Sarama.
type before struct {
	l       *ledger
	handled *member
}

func (before) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (before) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (b before) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for {
		select {
		case r, ok := <-c.Messages():
			if !ok {
				return nil
			}
			m := message.NewMessage(uuid.NewString(), r.Value)
			m.Metadata.Set(event.KeyHeader, string(r.Key))
			b.handled.handled.Add(1)
			b.l.begin(m)
			b.l.end(m)
			s.MarkMessage(r, "")
		case <-s.Context().Done():
			return nil
		}
	}
}

func (l *ledger) consumeAsBefore(brokers []string, group, topic string) *member {
	l.t.Helper()
	conf := sarama.NewConfig()
	conf.Version = sarama.V3_2_0_0
	conf.Consumer.Offsets.Initial = sarama.OffsetOldest
	conf.Consumer.Group.Heartbeat.Interval = time.Second
	conf.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyCooperativeSticky()}
	g, err := sarama.NewConsumerGroup(brokers, group, conf)
	if err != nil {
		l.t.Fatal(err)
	}
	self := &member{}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			if err := g.Consume(ctx, []string{topic}, before{l, self}); err != nil && ctx.Err() == nil {
				l.t.Log(err)
			}
		}
	})
	self.stop = func() {
		stop()
		if err := g.Close(); err != nil {
			l.t.Log(err)
		}
		wg.Wait()
	}
	return self
}

// Members of the previous release, which uses Sarama, and ours share a group while they are
// replaced one by one.
func TestReleaseBefore(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		brokers := strings.Split(strings.Trim(strings.TrimPrefix(url, "kafka://"), "/"), ",")
		topic, group := name("topic"), name("group")
		cfg := kafkabus.Config{Partitions: 6, SessionTimeout: 6 * time.Second}
		source := openBus(t, cfg, url)
		require.NoError(t, source.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}))
		l := newLedger(t)
		stopped := l.publish(source, topic, 24)
		members := []*member{l.consumeAsBefore(brokers, group, topic), l.consumeAsBefore(brokers, group, topic)}
		l.share(members)
		for range 2 {
			members = append(members, l.consume(openBus(t, cfg, url), group, topic, 64))
			l.share(members)
			members[0].stop()
			members = members[1:]
			l.share(members)
		}
		published := stopped()
		repeats := l.await(published)
		for _, m := range members {
			m.stop()
		}
		t.Logf("%d messages, %d handled twice", published, repeats)
	})
}

// Members with another assignment strategy are reported, with advice. When they are gone,
// reading begins.
func TestOtherStrategy(t *testing.T) {
	t.Parallel()
	c := fake(t)
	topic, group := name("topic"), name("group")
	log := &lines{}
	b := openBus(t, kafkabus.Config{SessionTimeout: 6 * time.Second, Logger: slog.New(slog.NewTextHandler(log, nil))}, urlOf(c))
	publish(t, b, topic, keyed("k", "1"))
	other, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.Balancers(kgo.RangeBalancer()))
	require.NoError(t, err)
	require.Len(t, other.PollFetches(t.Context()).Records(), 1)
	ch := subscribe(t, subscriber(t, b, group, 10), topic)
	log.await(t, "stop all of them, or use another group")
	other.Close()
	publish(t, b, topic, keyed("k", "2"))
	m := receive(t, ch)
	m.Ack()
	if string(m.Payload) == "1" { // not committed by the other
		expect(t, ch, "2")
	}
	log.await(t, "reading works again")
}

// lines holds the logged lines.
type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) await(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return strings.Contains(l.all.String(), text)
	}, 20*time.Second, 5*time.Millisecond, text)
}
