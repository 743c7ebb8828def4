package mysqloutbox_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/internal/storetest"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
)

// BenchmarkStatusDrain publishes 20,000 events to a publisher that does nothing.
func BenchmarkStatusDrain(b *testing.B) {
	const rows, each = 20_000, 500
	for range b.N {
		b.StopTimer()
		store, db := openStatus(b, mysqloutbox.Config{})
		for n := range rows / each {
			events := make([]event.Event, each)
			for i := range events {
				events[i] = storetest.Event(b, fmt.Sprint("key-", i), n)
			}
			storetest.Append(b, db, store, events...)
		}
		relay, err := outbox.NewRelay(store, discard{}, outbox.RelayConfig{})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := relay.Drain(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "events/s")
}
