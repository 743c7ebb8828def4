package amqpbus_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/amqpbus"
	"github.com/millrace-go/millrace/event"
)

func sized(key string) *message.Message {
	m := message.NewMessage("0195f1c2-0000-7000-8000-000000000000", make([]byte, 500))
	m.Metadata.Set(event.KeyHeader, key)
	m.Metadata.Set("ce_type", "SeatHeld")
	return m
}

// BenchmarkPublish publishes 500 bytes with confirms to one group of three
// queues: one message per call by one caller and by 64, and 500 per call.
func BenchmarkPublish(b *testing.B) {
	for _, kind := range []string{"quorum", "classic"} {
		for _, c := range []struct{ callers, batch int }{{1, 1}, {64, 1}, {1, 500}, {4, 500}} {
			b.Run(fmt.Sprintf("%s/callers=%d/batch=%d", kind, c.callers, c.batch), func(b *testing.B) {
				opened := rabbit(b).open(b, amqpbus.Config{}, "queue_type="+kind)
				topic := unique("topic")
				declare(b, opened, bus.Topic{Name: topic, Groups: []string{"g"}})
				batch := make([]*message.Message, c.batch)
				for i := range batch {
					batch[i] = sized(keyName(i))
				}
				publish(b, opened, topic, batch...)
				var left atomic.Int64
				left.Store(int64(b.N))
				done := make(chan error, c.callers)
				b.ResetTimer()
				for range c.callers {
					go func() {
						for left.Add(-int64(c.batch)) > -int64(c.batch) {
							if err := opened.Publisher().Publish(topic, batch...); err != nil {
								done <- err
								return
							}
						}
						done <- nil
					}()
				}
				for range c.callers {
					if err := <-done; err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
			})
		}
	}
}

// BenchmarkConsume consumes the messages in three queues through the dispatcher, with 1,000
// keys, and acknowledges at once.
func BenchmarkConsume(b *testing.B) {
	for _, kind := range []string{"quorum", "classic"} {
		b.Run(kind, func(b *testing.B) {
			opened := rabbit(b).open(b, amqpbus.Config{}, "queue_type="+kind)
			topic := unique("topic")
			declare(b, opened, bus.Topic{Name: topic, Groups: []string{"g"}})
			var batch []*message.Message
			for i := range b.N {
				if batch = append(batch, sized(keyName(i%1000))); len(batch) == 1000 || i == b.N-1 {
					publish(b, opened, topic, batch...)
					batch = nil
				}
			}
			sub, err := opened.Subscriber("g", bus.SubscriberConfig{Concurrency: 64})
			if err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			ch, err := sub.Subscribe(b.Context(), topic)
			if err != nil {
				b.Fatal(err)
			}
			for range b.N {
				select {
				case m := <-ch:
					m.Ack()
				case <-time.After(20 * time.Second):
					b.Fatal("no message came")
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
			if err := sub.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
