package logbustest

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

// batch makes n messages of 500 B over 100 keys.
func batch(n int) []*message.Message {
	out := make([]*message.Message, n)
	for i := range out {
		out[i] = message.NewMessage("0198c0de-0000-7000-8000-000000000000", make([]byte, 500))
		out[i].Metadata.Set(event.KeyHeader, strconv.Itoa(i%100))
	}
	return out
}

// BenchmarkPublish publishes one by one, 100 in a call, and from 64 goroutines.
func BenchmarkPublish(b *testing.B, open func(testing.TB) *bus.Bus) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("batch=%d", n), func(b *testing.B) {
			pub, messages := open(b).Publisher(), batch(n)
			for b.Loop() {
				if err := pub.Publish("topic", messages...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "msg/s")
		})
	}
	b.Run("parallel=64", func(b *testing.B) {
		pub := open(b).Publisher()
		b.SetParallelism(32) // times GOMAXPROCS
		b.RunParallel(func(pb *testing.PB) {
			messages := batch(1)
			for pb.Next() {
				if err := pub.Publish("topic", messages...); err != nil {
					b.Error(err)
					return
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
	})
}

// BenchmarkConsume drains a backlog with a group that acknowledges at once.
func BenchmarkConsume(b *testing.B, open func(testing.TB) *bus.Bus, backlog int, windows ...int) {
	for _, window := range windows {
		b.Run(fmt.Sprint("window=", window), func(b *testing.B) {
			bs := open(b)
			for range backlog / 1000 {
				sourcetest.Publish(b, bs, "topic", batch(1000)...)
			}
			group := 0
			for b.Loop() {
				group++
				sub := sourcetest.Subscriber(bs.Driver(), fmt.Sprint("group ", group), window)
				ch, err := sub.Subscribe(b.Context(), "topic")
				if err != nil {
					b.Fatal(err)
				}
				for range backlog {
					(<-ch).Ack()
				}
				b.StopTimer()
				if err := sub.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(b.N*backlog)/b.Elapsed().Seconds(), "msg/s")
		})
	}
}

// BenchmarkLatency publishes 500 messages a second one by one on a and measures from the call of
// Publish to the handler on c, which may be the same bus or stand for another process.
func BenchmarkLatency(b *testing.B, a, c *bus.Bus) {
	ch := sourcetest.Subscribe(b, c, "group", "topic", 256)
	sourcetest.Publish(b, a, "topic", batch(1)...)
	(<-ch).Ack()
	var took []time.Duration
	done := make(chan struct{})
	sent := make(chan time.Time, 1000)
	go func() {
		defer close(done)
		for at := range sent {
			(<-ch).Ack()
			took = append(took, time.Since(at))
		}
	}()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for b.Loop() {
		<-tick.C
		sent <- time.Now()
		sourcetest.Publish(b, a, "topic", batch(1)...)
	}
	close(sent)
	<-done
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
