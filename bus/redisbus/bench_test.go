package redisbus_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/event"
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

func BenchmarkPublish(b *testing.B) {
	for name, newPlace := range map[string]func(testing.TB) place{"single": single, "cluster": cluster} {
		for _, n := range []int{1, 500} {
			b.Run(fmt.Sprintf("%s/batch=%d", name, n), func(b *testing.B) {
				pub, messages := open(b, redisbus.Config{}, newPlace(b).url).Publisher(), batch(n)
				for b.Loop() {
					if err := pub.Publish("topic", messages...); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "msg/s")
			})
		}
		b.Run(name+"/parallel=64", func(b *testing.B) {
			pub := open(b, redisbus.Config{}, newPlace(b).url).Publisher()
			b.SetParallelism(32) // times GOMAXPROCS
			b.RunParallel(func(pb *testing.PB) {
				messages := batch(100)
				for i := 0; pb.Next(); i++ {
					if err := pub.Publish("topic", messages[i%100]); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
		})
	}
}

// BenchmarkConsume drains a backlog by a group that acknowledges at once.
func BenchmarkConsume(b *testing.B) {
	const backlog = 50_000
	for _, window := range []int{1, 256, 1024} {
		b.Run(fmt.Sprint("window=", window), func(b *testing.B) {
			bs := open(b, redisbus.Config{}, single(b).url)
			publish(b, bs, "topic", batch(backlog)...)
			group := 0
			for b.Loop() {
				group++
				ch := subscribe(b, bs, fmt.Sprint("group ", group), "topic", window)
				for range backlog {
					(<-ch).Ack()
				}
			}
			b.ReportMetric(float64(b.N*backlog)/b.Elapsed().Seconds(), "msg/s")
		})
	}
}

// BenchmarkLatency publishes 500 messages a second one by one from another process's
// client, and measures from the call of Publish to the handler.
func BenchmarkLatency(b *testing.B) {
	p := single(b)
	from, to := open(b, redisbus.Config{}, p.url), open(b, redisbus.Config{}, p.url)
	ch := subscribe(b, to, "group", "topic", 256)
	publish(b, from, "topic", batch(1)...)
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
		publish(b, from, "topic", batch(1)...)
	}
	close(sent)
	<-done
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
