package bench

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// A bucket holds durations of nearly one length, and buckets do not overlap.
func TestBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "d"))
		b := bucketOf(d)
		if top := upTo(b); top < d || top > d+d/16 {
			t.Fatalf("%d is in bucket %d, up to %d", d, b, top)
		}
		if next := bucketOf(upTo(b) + 1); next != b+1 {
			t.Fatalf("after bucket %d comes %d", b, next)
		}
	})
}

func TestLatencies(t *testing.T) {
	var a, b latencies
	for i := range 990 {
		a.add(time.Duration(i%10+1) * time.Microsecond)
	}
	for range 10 {
		b.add(time.Second)
	}
	a.merge(&b)
	for q, want := range map[float64]time.Duration{0.49: 5 * time.Microsecond, 0.98: 10 * time.Microsecond, 0.995: time.Second, 1: time.Second} {
		if got := a.quantile(q); got < want || got > want+want/16 {
			t.Errorf("quantile %g is %s, want %s", q, got, want)
		}
	}
	if r := a.report(); r.Count != 1000 || r.P50 < 0.006 || r.P50 > 0.0064 {
		t.Errorf("reported %+v", r)
	}
	assert.EqualValues(t, 0, new(latencies).quantile(0.99), "of nothing")
	a.add(-time.Second) // our clocks do not go back; it must not fail
	if size := unsafe.Sizeof(a); size > 17<<10 {
		t.Errorf("it takes %d bytes", size)
	}
}
