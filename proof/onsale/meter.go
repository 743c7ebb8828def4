package onsale

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// meter counts durations, in steps of less than 7 %.
type meter struct {
	buckets [64 << steps]atomic.Int64
	most    atomic.Int64
}

// steps is the logarithm of the number of steps to the next power of two.
const steps = 4

func (m *meter) add(took time.Duration) {
	n := max(0, int64(took))
	m.buckets[bucket(n)].Add(1)
	for old := m.most.Load(); n > old && !m.most.CompareAndSwap(old, n); old = m.most.Load() {
	}
}

// bucket of a number: those below 16 have one each.
func bucket(n int64) int {
	if n < 1<<steps {
		return int(n)
	}
	power := bits.Len64(uint64(n)) - 1 - steps
	return power<<steps + int(n>>power)
}

// least is the smallest number of a bucket.
func least(bucket int) int64 {
	if bucket < 2<<steps {
		return int64(bucket)
	}
	power := bucket>>steps - 1
	return int64(bucket-power<<steps) << power
}

func (m *meter) count() (n int64) {
	for i := range m.buckets {
		n += m.buckets[i].Load()
	}
	return n
}

// quantile is at most that of the added durations; 0 when there are none.
func (m *meter) quantile(q float64) time.Duration {
	counts, total := m.since(nil)
	return at(counts, total, q)
}

// since returns the counts added since an earlier look.
func (m *meter) since(before []int64) (counts []int64, total int64) {
	counts = make([]int64, len(m.buckets))
	for i := range m.buckets {
		if counts[i] = m.buckets[i].Load(); before != nil {
			counts[i] -= before[i]
		}
		total += counts[i]
	}
	return counts, total
}

func at(counts []int64, total int64, q float64) time.Duration {
	sum := int64(0)
	for i, n := range counts {
		if sum += n; n > 0 && float64(sum) > q*float64(total) {
			return time.Duration(least(i))
		}
	}
	return 0
}

func (m *meter) max() time.Duration { return time.Duration(m.most.Load()) }
