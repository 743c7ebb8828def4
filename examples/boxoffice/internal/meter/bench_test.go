package meter_test

import (
	"testing"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/meter"
	"github.com/millrace-go/millrace/ratelimit"
)

// BenchmarkCount counts from many goroutines, which meet at one lock.
func BenchmarkCount(b *testing.B) {
	m, err := meter.New(meter.NewMemory(), meter.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.Count(ratelimit.High, 1)
		}
	})
}
