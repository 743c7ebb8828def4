// Package percentile has the percentiles of measured times: of a list with [Of], and of
// many, in memory that does not grow, with a [Meter].
//
//	property                                       proven by
//	Of is the value at its share of the sorted     TestOf
//	a Meter is at most 2 % below Of                TestMeter, TestBuckets
package percentile

import (
	"math/bits"
	"slices"
	"sync/atomic"
	"time"
)

// Of is the percentile of a share from 0 to 1; 0 of none. The times may be in any
// order, and stay as they are.
func Of(times []time.Duration, share float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	if !slices.IsSorted(times) {
		times = slices.Sorted(slices.Values(times))
	}
	return times[min(int(share*float64(len(times))), len(times)-1)]
}

// Meter counts times in steps of less than 2 %. The zero value is ready, and safe for
// concurrent use.
type Meter struct {
	buckets [64 << steps]atomic.Int64
	most    atomic.Int64
}

// steps is the logarithm of the number of steps to the next power of two.
const steps = 6

// Add counts a time.
func (m *Meter) Add(took time.Duration) {
	n := max(0, int64(took))
	m.buckets[bucket(n)].Add(1)
	for old := m.most.Load(); n > old && !m.most.CompareAndSwap(old, n); old = m.most.Load() {
	}
}

// bucket of a number: those below 64 have one each.
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

// Count is how many times were added.
func (m *Meter) Count() int64 { return m.Counts().total }

// Max is the longest time.
func (m *Meter) Max() time.Duration { return time.Duration(m.most.Load()) }

// Of is at most the percentile of the added times; 0 when there are none.
func (m *Meter) Of(share float64) time.Duration { return m.Counts().Of(share) }

// Counts are the times that a [Meter] counted until a look at it, or between two.
type Counts struct {
	buckets []int64
	total   int64
}

// Counts are all that were added so far.
func (m *Meter) Counts() (c Counts) {
	c.buckets = make([]int64, len(m.buckets))
	for i := range m.buckets {
		c.buckets[i] = m.buckets[i].Load()
		c.total += c.buckets[i]
	}
	return c
}

// Since are the counts that came after an earlier look at the same Meter.
func (c Counts) Since(before Counts) Counts {
	since := Counts{buckets: slices.Clone(c.buckets), total: c.total - before.total}
	for i, n := range before.buckets {
		since.buckets[i] -= n
	}
	return since
}

// Count is how many times there are.
func (c Counts) Count() int64 { return c.total }

// Of is at most the percentile of a share; 0 when there are none.
func (c Counts) Of(share float64) time.Duration {
	sum := int64(0)
	for i, n := range c.buckets {
		if sum += n; n > 0 && (float64(sum) > share*float64(c.total) || sum == c.total) {
			return time.Duration(least(i))
		}
	}
	return 0
}
