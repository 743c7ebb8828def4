package upstream

import (
	"math/bits"
	"time"
)

// Quantiles of a time, in microseconds. They are exact to 1 part in 16, and never
// below the measured value.
type Quantiles struct {
	Count int64 `json:"count"`
	P50   int64 `json:"p50Us"`
	P99   int64 `json:"p99Us"`
	Max   int64 `json:"maxUs"`
}

// histogram counts times in buckets that grow with them: sixteen to a doubling.
type histogram struct {
	counts [64 * 16]int64
	n      int64
	most   int64
}

func (h *histogram) add(d time.Duration) {
	us := max(d.Microseconds(), 0)
	h.counts[bucketOf(us)]++
	h.n++
	h.most = max(h.most, us)
}

func bucketOf(us int64) int {
	if us < 16 {
		return int(us)
	}
	shift := bits.Len64(uint64(us)) - 5 // leaves 5 bits: 16 to 31
	return shift*16 + int(us>>shift)
}

// top is the largest number of a bucket.
func top(bucket int) int64 {
	if bucket < 32 {
		return int64(bucket)
	}
	shift := bucket/16 - 1
	return (int64(bucket%16+16)+1)<<shift - 1
}

func (h *histogram) quantiles() Quantiles {
	return Quantiles{Count: h.n, P50: h.quantile(0.50), P99: h.quantile(0.99), Max: h.most}
}

func (h *histogram) quantile(q float64) int64 {
	rank := int64(q * float64(h.n))
	seen := int64(0)
	for i, n := range h.counts {
		if seen += n; seen > rank {
			return min(top(i), h.most)
		}
	}
	return h.most
}
