package kafkabus_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

const benchMessages = 120_000

// benchTopic declares a topic of its own.
func benchTopic(b *testing.B, bs *bus.Bus) string {
	b.Helper()
	topic := name("bench")
	require.NoError(b, bs.Declare(b.Context(), bus.Topic{Name: topic, Partitions: 6}))
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
			assert.NoError(b, err)
		})
	}
	assert.NoError(b, producer.Flush(b.Context()))
}

// publishing publishes with so many callers, and chunk messages per call.
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

// BenchmarkPublish alternates between our publisher and a bare client of franz-go, so that
// both meet the same conditions.
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

// BenchmarkConsume drains a backlog with a consumer whose handler does nothing, with order
// per key, retries and dead letters on, and with a bare client of franz-go in a group, in
// turn. It reports the CPU time of this process per message.
func BenchmarkConsume(b *testing.B) {
	bs := openBus(b, kafkabus.Config{}, real(b))
	topic := benchTopic(b, bs)
	publishing(b, bs, topic, batch(benchMessages, 0), 4, 5000)
	for _, window := range []int{256, 1024} {
		b.Run(fmt.Sprint("window=", window), func(b *testing.B) {
			var ours, bare drained
			for b.Loop() {
				bare.add(drain(b, func(handled func()) (stop func()) { return pollBare(b, topic, handled) }))
				ours.add(drain(b, func(handled func()) (stop func()) { return run(b, bs, topic, window, handled) }))
			}
			n := float64(b.N * benchMessages)
			b.ReportMetric(n/ours.took.Seconds(), "msg/s")
			b.ReportMetric(float64(ours.cpu.Nanoseconds())/1000/n, "cpu-µs/msg")
			b.ReportMetric(float64(bare.cpu.Nanoseconds())/1000/n, "bare-cpu-µs/msg")
		})
	}
}

// drained is the time to consume a backlog.
type drained struct{ took, cpu time.Duration }

func (d *drained) add(other drained) { d.took, d.cpu = d.took+other.took, d.cpu+other.cpu }

// drain measures a consumer of the whole backlog: its time from the first message on, and
// all its CPU time, because a client reads ahead before it delivers the first message.
func drain(b *testing.B, start func(handled func()) (stop func())) drained {
	b.Helper()
	var handled atomic.Int64
	var began time.Time
	all, cpu := make(chan struct{}), used(b)
	stop := start(func() {
		switch handled.Add(1) {
		case 1:
			began = time.Now()
		case benchMessages:
			close(all)
		}
	})
	<-all
	d := drained{time.Since(began), used(b) - cpu}
	stop()
	return d
}

// used returns the CPU time of this process.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	assert.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func run(b *testing.B, bs *bus.Bus, topic string, window int, handled func()) (stop func()) {
	b.Helper()
	r, err := bus.NewRunner(bs, bus.RunnerConfig{Logger: quiet})
	if err == nil {
		err = r.Add(bus.Consumer{Topic: topic, Group: name("group"), Window: window, Handler: func(*message.Message) error {
			handled()
			return nil
		}})
	}
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	return func() {
		cancel()
		assert.NoError(b, <-ended)
	}
}

func pollBare(b *testing.B, topic string, handled func()) (stop func()) {
	b.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(servicetest.Kafka(b), ",")...), kgo.ConsumeTopics(topic),
		kgo.ConsumerGroup(name("bare")), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.AutoCommitInterval(500*time.Millisecond))
	require.NoError(b, err)
	var polls sync.WaitGroup
	polls.Go(func() {
		for {
			fetched := c.PollFetches(b.Context())
			if fetched.IsClientClosed() {
				return
			}
			fetched.EachRecord(func(*kgo.Record) { handled() })
		}
	})
	return func() {
		c.Close()
		polls.Wait()
	}
}
