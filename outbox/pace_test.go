package outbox

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/outbox/driver"
)

// Full batches grow towards half of batchTime, sixteenfold at most; slow and small ones shrink.
func TestBatchesGrowByTheirTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit, n int
		took     time.Duration
		want     int
	}{
		{100, 100, time.Millisecond, 1600},
		{100, 100, batchTime / 8, 400},
		{1000, 1000, batchTime / 4, 2000},
		{1000, 1000, batchTime / 2, 1000},
		{1000, 1000, batchTime + 1, 500},
		{4000, 4000, time.Millisecond, 5000}, // MaxBatch
		{100, 100, batchTime + 1, 100},       // MinBatch
		{1000, 200, time.Millisecond, 500},
	} {
		p := newPace(RelayConfig{MinBatch: 100, MaxBatch: 5000, MaxBatchBytes: 8 << 20})
		p.limit = c.limit
		p.after(c.n, c.n == c.limit, c.took)
		assert.Equalf(t, c.want, p.limit, "after %d of at most %d events in %v the next batch has %d", c.n, c.limit, c.took, p.limit)
	}
}

func TestBatchesFitIntoTheirBytes(t *testing.T) {
	t.Parallel()
	items := make([]driver.Item, 100)
	for i := range items {
		items[i].Payload = make([]byte, 1000)
	}
	for most, want := range map[int]int{50_000: 50, 1: 1, 8 << 20: 1000, math.MaxInt: 1000} {
		p := newPace(RelayConfig{MinBatch: 100, MaxBatch: 5000, MaxBatchBytes: most})
		p.limit = 1000
		if p.read(items, 100, time.Millisecond); p.limit != want {
			t.Errorf("with MaxBatchBytes %d the next batch of events of 1000 bytes has %d, want %d", most, p.limit, want)
		}
	}
}
