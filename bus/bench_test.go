package bus_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/membus"
)

// BenchmarkConsume is what a consumer costs per message beside its handler and
// its transport: dispatcher, Router and acknowledgement.
func BenchmarkConsume(b *testing.B) {
	for _, keys := range []int{1, 8, 1000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			driver, err := membus.Open(membus.Config{Retention: b.N + 1})
			if err != nil {
				b.Fatal(err)
			}
			mem := bus.New("mem", driver)
			defer mem.Close()
			for n := range b.N {
				if err := mem.Publisher().Publish("t", keyed(fmt.Sprint(n%keys), n)); err != nil {
					b.Fatal(err)
				}
			}
			r, err := bus.NewRunner(mem, bus.RunnerConfig{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			var handled atomic.Int64
			done := make(chan struct{})
			err = r.Add(bus.Consumer{Topic: "t", Group: "g", Handler: func(*message.Message) error {
				if handled.Add(1) == int64(b.N) {
					close(done)
				}
				return nil
			}})
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			stopped := make(chan error, 1)
			b.ReportAllocs()
			b.ResetTimer()
			go func() { stopped <- r.Run(ctx) }()
			<-done
			b.StopTimer()
			cancel()
			if err := <-stopped; err != nil {
				b.Fatal(err)
			}
		})
	}
}
