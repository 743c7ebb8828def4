package migrating_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	wmamqp "github.com/ThreeDotsLabs/watermill-amqp/v2/pkg/amqp"
	wmkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/allbus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// fleet is a group of Watermill alone, on a broker, that moves to package bus.
type fleet struct {
	url        string // of the native transport
	subscriber func() (message.Subscriber, error)
	drained    bool // the native transport has a place of its own: the group is drained first
}

// fleets are set up as in the documentation of Watermill's adapters, except that new groups
// start at the oldest message.
func fleets() map[string]func(t *testing.T, topic, group string) fleet {
	return map[string]func(t *testing.T, topic, group string) fleet{
		"kafka": func(t *testing.T, _, group string) fleet {
			brokers := servicetest.Kafka(t)
			c := wmkafka.DefaultSaramaSubscriberConfig()
			c.Version, c.Consumer.Offsets.Initial = sarama.V2_1_0_0, sarama.OffsetOldest
			return fleet{url: "kafka://" + brokers + "/", subscriber: func() (message.Subscriber, error) {
				return wmkafka.NewSubscriber(wmkafka.SubscriberConfig{
					Brokers: strings.Split(brokers, ","), Unmarshaler: wmkafka.DefaultMarshaler{}, ConsumerGroup: group, OverwriteSaramaConfig: c,
				}, watermill.NopLogger{})
			}}
		},
		"redis": func(t *testing.T, topic, group string) fleet {
			raw := servicetest.Redis(t)
			options, err := redis.ParseURL(raw)
			must(t, err)
			t.Cleanup(func() {
				client := redis.NewClient(options)
				defer client.Close() //nolint:errcheck // a test's side connection
				must(t, client.Unlink(context.Background(), topic, topic+".DLT").Err())
				must(t, client.HDel(context.Background(), "millrace:topics", topic, topic+".DLT").Err())
			})
			return fleet{url: with(raw, "partitions=1"), subscriber: func() (message.Subscriber, error) {
				return redisstream.NewSubscriber(redisstream.SubscriberConfig{
					Client: redis.NewClient(options), ConsumerGroup: group, Consumer: uuid.NewString(), DisableIndefiniteInitialBlock: true,
				}, watermill.NopLogger{})
			}}
		},
		"rabbitmq": func(t *testing.T, topic, group string) fleet {
			raw := servicetest.RabbitMQ(t)
			t.Cleanup(func() {
				conn, err := amqp.Dial(raw)
				must(t, err)
				defer conn.Close() //nolint:errcheck // a test's side connection
				ch, err := conn.Channel()
				must(t, err)
				for _, queue := range []string{topic + "_" + group, topic + ":" + group, topic + ":" + group + ":members", topic + ".DLT_" + driver.RedriveGroup, topic + ".DLT"} {
					_, err := ch.QueueDelete(queue, false, false, false)
					must(t, err)
				}
				for _, exchange := range []string{topic, topic + ".DLT", "x-" + topic} {
					must(t, ch.ExchangeDelete(exchange, false, false))
				}
			})
			return fleet{url: with(raw, "partitions=1&exchange=x-"+topic), drained: true, subscriber: func() (message.Subscriber, error) {
				return wmamqp.NewSubscriber(wmamqp.NewDurablePubSubConfig(raw, wmamqp.GenerateQueueNameTopicNameWithSuffix(group)), watermill.NopLogger{})
			}}
		},
	}
}

func with(raw, query string) string {
	if strings.Contains(raw, "?") {
		return raw + "&" + query
	}
	return raw + "?" + query
}

// inMode is the URL of the same broker with ?mode=watermill, without the parameters that only
// the native transport knows.
func inMode(t *testing.T, raw string) string {
	u, err := url.Parse(raw)
	must(t, err)
	q := u.Query()
	q.Del("partitions")
	q.Del("exchange")
	q.Set("mode", "watermill")
	u.RawQuery = q.Encode()
	return u.String()
}

// ledger holds the messages that the group has handled, by key.
type ledger struct {
	mu   sync.Mutex
	seen map[string][]int
	more chan struct{}
}

func (l *ledger) add(m *message.Message) error {
	n, err := strconv.Atoi(string(m.Payload))
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := event.Key(m)
	l.seen[key] = append(l.seen[key], n)
	select {
	case l.more <- struct{}{}:
	default:
	}
	return nil
}

// until waits until each key has reached n, and then checks the handled messages: a message
// may be repeated, but none is skipped or precedes an earlier message of its key.
func (l *ledger) until(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	for {
		l.mu.Lock()
		have := 0
		for key, seen := range l.seen {
			next := 1
			for _, got := range seen {
				if got > next {
					t.Fatalf("key %s: %v", key, seen)
				}
				if got == next {
					next++
				}
			}
			if slices.Contains(seen, n) {
				have++
			}
		}
		l.mu.Unlock()
		if have == len(fleetKeys) {
			return
		}
		select {
		case <-l.more:
		case <-ctx.Done():
			t.Fatalf("not all came to %d: %v", n, l.seen)
		}
	}
}

var fleetKeys = []string{"a", "b", "c", "d"}

// TestFleet moves a group of a fleet that uses Watermill alone to package bus: our process
// joins, takes over, leaves and rejoins, and then the group moves to the native transport.
func TestFleet(t *testing.T) {
	for name, at := range fleets() {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			topic, group := "fleet-"+uuid.NewString(), "billing-"+uuid.NewString()[:8]
			f := at(t, topic, group)
			l := &ledger{seen: map[string][]int{}, more: make(chan struct{}, 1)}
			ours, err := bus.Open(ctx, inMode(t, f.url), allbus.Schemes(allbus.Config{})...)
			must(t, err)
			defer ours.Close() //nolint:errcheck // of a test
			must(t, ours.Declare(ctx, bus.Topic{Name: topic, Groups: []string{group}}))
			n := 0
			publish := func(b *bus.Bus) {
				t.Helper()
				for range 5 {
					n++
					for _, key := range fleetKeys {
						m := message.NewMessage(uuid.NewString(), []byte(strconv.Itoa(n)))
						m.Metadata.Set(event.KeyHeader, key)
						must(t, b.Publisher().Publish(topic, m))
					}
				}
			}

			publish(ours)
			leave := f.member(t, topic, l) // the fleet as it is
			l.until(ctx, t, n)
			leave()
			stop := consume(ctx, t, ours, topic, group, l) // step 1: our process takes over
			publish(ours)
			l.until(ctx, t, n)
			stop()
			leave = f.member(t, topic, l) // and back
			publish(ours)
			l.until(ctx, t, n)
			leave()
			stop = consume(ctx, t, ours, topic, group, l)
			publish(ours)

			native, err := bus.Open(ctx, f.url, allbus.Schemes(allbus.Config{})...)
			must(t, err)
			defer native.Close() //nolint:errcheck // of a test
			if f.drained {       // step 2: publishers turn to the native transport; the group is drained
				must(t, native.Declare(ctx, bus.Topic{Name: topic, Groups: []string{group}}))
			}
			l.until(ctx, t, n)
			stop() // step 3: the last member of the mode leaves
			publish(native)
			stop = consume(ctx, t, native, topic, group, l) // step 4: the group goes on natively
			publish(native)
			l.until(ctx, t, n)
			stop()
			for key, seen := range l.seen {
				assert.Lenf(t, seen, n, "key %s: %d messages were handled %d times, and every stop was in order", key, n, len(seen))
			}
		})
	}
}

// member runs a consumer that uses Watermill alone, until leave is called.
func (f fleet) member(t *testing.T, topic string, l *ledger) (leave func()) {
	t.Helper()
	s, err := f.subscriber()
	must(t, err)
	ch, err := s.Subscribe(context.Background(), topic)
	must(t, err)
	done := make(chan error, 1)
	go func() {
		for m := range ch {
			m.Ack()
			<-m.Context().Done() // acknowledged on the broker: Close does not wait for that
			if err := l.add(m); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	return func() {
		t.Helper()
		must(t, s.Close())
		must(t, <-done)
	}
}

// consume runs a consumer until stop.
func consume(ctx context.Context, t *testing.T, b *bus.Bus, topic, group string, l *ledger) (stop func()) {
	t.Helper()
	r, err := bus.NewRunner(b, bus.RunnerConfig{})
	must(t, err)
	must(t, r.Add(bus.Consumer{Topic: topic, Group: group, Handler: l.add}))
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	select {
	case <-r.Running():
	case err := <-done:
		t.Fatal(fmt.Errorf("run: %w", err))
	}
	return func() {
		t.Helper()
		cancel()
		must(t, <-done)
	}
}
