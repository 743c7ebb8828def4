package bench

import (
	"math"
	"math/bits"
	"sync"
	"time"
)

// latencies counts durations in buckets that are at most 1/32 wide, so that any
// number of them takes 16 KB.
type latencies struct {
	mu      sync.Mutex
	buckets [64 << fine]int64
	n       int64
}

// fine is how many bits of a duration a bucket keeps below the first.
const fine = 5

func bucketOf(d time.Duration) int {
	ns := uint64(max(d, 0))
	if ns < 1<<fine {
		return int(ns)
	}
	order := bits.Len64(ns) - 1
	return (order-fine+1)<<fine + int(ns>>(order-fine))&(1<<fine-1)
}

// upTo is the longest duration of a bucket.
func upTo(bucket int) time.Duration {
	if bucket < 1<<fine {
		return time.Duration(bucket)
	}
	order := bucket>>fine + fine - 1
	from := uint64(1<<fine+bucket&(1<<fine-1)) << (order - fine)
	return time.Duration(from + 1<<(order-fine) - 1)
}

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buckets[bucketOf(d)]++
	l.n++
}

// merge adds the counts of another.
func (l *latencies) merge(other *latencies) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, n := range other.buckets {
		l.buckets[i] += n
	}
	l.n += other.n
}

// quantile is the duration that a share q of them, above 0 and up to 1, did not exceed.
func (l *latencies) quantile(q float64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	rank := int64(math.Ceil(q * float64(l.n)))
	for i, n := range l.buckets {
		if rank -= n; n > 0 && rank <= 0 {
			return upTo(i)
		}
	}
	return 0
}

// Latency summarizes measured durations.
type Latency struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50Ms"`
	P99   float64 `json:"p99Ms"`
}

func (l *latencies) report() *Latency {
	ms := func(d time.Duration) float64 { return math.Round(float64(d)/1e3) / 1e3 }
	return &Latency{Count: l.n, P50: ms(l.quantile(0.5)), P99: ms(l.quantile(0.99))}
}
