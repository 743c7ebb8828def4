package kafkabus_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// batch makes n messages of 500 B, which compress about as JSON does, over 1000 keys.
func batch(n, from int) []*message.Message {
	out := make([]*message.Message, n)
	for i := range out {
		key := strconv.Itoa((from + i) % 1000)
		payload := fmt.Appendf(nil, `{"paymentId":"%032d","reservationId":"%d","amount":%d,"paidAt":"2026-01-01T00:00:00Z","note":%q}`,
			(from+i)*7919, from+i, (from+i)%10_000, strings.Repeat("seat A-1 ", 42))
		out[i] = message.NewMessage("0198c0de-0000-7000-8000-"+fmt.Sprintf("%012d", from+i), payload[:500])
		out[i].Metadata.Set(event.KeyHeader, key)
		out[i].Metadata.Set("ce_type", "PaymentSuccess")
	}
	return out
}

const benchMessages = 40_000

// benchTopic declares a topic of its own.
func benchTopic(b *testing.B, bs *bus.Bus) string {
	b.Helper()
	topic := name("bench")
	if err := bs.Declare(b.Context(), bus.Topic{Name: topic, Partitions: 6}); err != nil {
		b.Fatal(err)
	}
	return topic
}

// flatOut publishes with a bare client of the same settings.
func flatOut(b *testing.B, producer *kgo.Client, topic string, messages []*message.Message) {
	b.Helper()
	for _, m := range messages {
		r := &kgo.Record{Topic: topic, Key: []byte(event.Key(m)), Value: m.Payload, Headers: []kgo.RecordHeader{{Key: "_watermill_message_uuid", Value: []byte(m.UUID)}}}
		for k, v := range m.Metadata {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: k, Value: []byte(v)})
		}
		producer.Produce(b.Context(), r, func(_ *kgo.Record, err error) {
			if err != nil {
				b.Error(err)
			}
		})
	}
	if err := producer.Flush(b.Context()); err != nil {
		b.Error(err)
	}
}

// publishing publishes with so many callers, each so many messages per call.
func publishing(b *testing.B, bs *bus.Bus, topic string, messages []*message.Message, callers, chunk int) {
	b.Helper()
	var wg sync.WaitGroup
	part := len(messages) / callers
	for c := range callers {
		wg.Go(func() {
			for chunk := range slices.Chunk(messages[c*part:(c+1)*part], chunk) {
				if err := bs.Publisher().Publish(topic, chunk...); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkPublish runs our publisher beside a bare client of franz-go, taking
// turns, so that both meet the same machine.
func BenchmarkPublish(b *testing.B) {
	url := real(b)
	bs := openBus(b, kafkabus.Config{}, url)
	producer, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(servicetest.Kafka(b), ",")...), kgo.ProducerBatchCompression(kgo.ZstdCompression()))
	if err != nil {
		b.Fatal(err)
	}
	defer producer.Close()
	for _, v := range []struct{ callers, chunk int }{{1, 1}, {64, 1}, {1, 100}, {16, 100}, {1, 500}, {4, 500}, {1, 5000}} {
		b.Run(fmt.Sprintf("callers=%d/chunk=%d", v.callers, v.chunk), func(b *testing.B) {
			topic := benchTopic(b, bs)
			n := min(benchMessages, v.callers*v.chunk*2000)
			n -= n % (v.callers * v.chunk)
			messages := batch(n, 0)
			flat := batch(benchMessages, 0)
			var ours, bare time.Duration
			for b.Loop() {
				start := time.Now()
				flatOut(b, producer, topic, flat)
				bare += time.Since(start)
				start = time.Now()
				publishing(b, bs, topic, messages, v.callers, v.chunk)
				ours += time.Since(start)
			}
			rate := float64(b.N*n) / ours.Seconds()
			flatRate := float64(b.N*len(flat)) / bare.Seconds()
			b.ReportMetric(rate, "msg/s")
			b.ReportMetric(flatRate, "bare-msg/s")
			b.ReportMetric(rate/flatRate, "of-bare")
		})
	}
}

// BenchmarkConsume drains a backlog by a group that acknowledges at once.
func BenchmarkConsume(b *testing.B) {
	bs := openBus(b, kafkabus.Config{}, real(b))
	topic := benchTopic(b, bs)
	publishing(b, bs, topic, batch(benchMessages, 0), 1, 5000)
	for _, window := range []int{1, 256, 1024} {
		b.Run(fmt.Sprint("window=", window), func(b *testing.B) {
			for b.Loop() {
				sub := subscriber(b, bs, name("group"), window)
				ch := subscribe(b, sub, topic)
				receive(b, ch).Ack()
				start := time.Now() // without the joining
				for range benchMessages - 1 {
					receive(b, ch).Ack()
				}
				b.ReportMetric(float64(benchMessages)/time.Since(start).Seconds(), "msg/s")
				if err := sub.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
