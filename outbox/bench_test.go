package outbox_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/sqltx"
)

// discard is a publisher that does nothing.
type discard struct{}

func (discard) Publish(string, ...*message.Message) error { return nil }
func (discard) Close() error                              { return nil }

// BenchmarkRelay measures the cost of the relay per event: the store is memory and the
// publisher does nothing.
func BenchmarkRelay(b *testing.B) {
	store := outboxtest.NewMemory(1)
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	if err != nil {
		b.Fatal(err)
	}
	err = store.Do(b.Context(), func(ctx context.Context, tx sqltx.Execer) error {
		for i := range b.N {
			e, err := outboxtest.NewEvent("key-"+strconv.Itoa(i%1000), i)
			if err != nil {
				return err
			}
			if err := box.Append(ctx, tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	r, err := outbox.NewRelay(store, discard{}, outbox.RelayConfig{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if err := r.Drain(b.Context()); err != nil {
		b.Fatal(err)
	}
}
