package bus_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/membus"
)

// BenchmarkConsume measures the cost of a consumer per message beside its handler and its
// transport: the engine and the acknowledgement.
func BenchmarkConsume(b *testing.B) {
	for _, keys := range []int{1, 8, 1000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			mem, err := bus.Open(b.Context(), fmt.Sprintf("mem://?retention=%d", b.N+1), membus.Scheme())
			if err != nil {
				b.Fatal(err)
			}
			defer mem.Close()
			for n := range b.N {
				if err := mem.Publisher().Publish("t", keyed(fmt.Sprint(n%keys), n)); err != nil {
					b.Fatal(err)
				}
			}
			consumeAll(b, mem, func(handled func(int)) bus.AnyConsumer {
				return bus.Consumer{Topic: "t", Group: "g", Handler: func(*message.Message) error { handled(1); return nil }}
			})
		})
		b.Run(fmt.Sprintf("batches/keys=%d", keys), func(b *testing.B) {
			mem, err := bus.Open(b.Context(), fmt.Sprintf("mem://?retention=%d", b.N+1), membus.Scheme())
			if err != nil {
				b.Fatal(err)
			}
			defer mem.Close()
			for n := range b.N {
				if err := mem.Publisher().Publish("t", keyed(fmt.Sprint(n%keys), n)); err != nil {
					b.Fatal(err)
				}
			}
			consumeAll(b, mem, func(handled func(int)) bus.AnyConsumer {
				return bus.BatchConsumer{Topic: "t", Group: "g", Handler: func(_ context.Context, messages []*message.Message) error {
					handled(len(messages))
					return nil
				}}
			})
		})
	}
}

// consumeAll measures how long a consumer takes for b.N messages.
func consumeAll(b *testing.B, on *bus.Bus, consumer func(handled func(int)) bus.AnyConsumer) {
	b.Helper()
	r, err := bus.NewRunner(on, bus.RunnerConfig{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	var count atomic.Int64
	done := make(chan struct{})
	err = r.Add(consumer(func(n int) {
		if count.Add(int64(n)) == int64(b.N) {
			close(done)
		}
	}))
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	b.ReportAllocs()
	b.ResetTimer()
	go func() { stopped <- r.Run(ctx) }()
	<-done
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
	if s := r.Status()[0]; s.Batches > 0 {
		b.ReportMetric(float64(b.N)/float64(s.Batches), "msg/batch")
	}
	cancel()
	require.NoError(b, <-stopped)
}
