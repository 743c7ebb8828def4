package limitproof

import (
	"context"
	"math"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/upstream/boottime"
)

// leaf makes the collector follow pointers, which takes it longer than bytes do.
type leaf struct{ links [7]*leaf }

// litter keeps a heap of many small objects, replaces some of it all the time,
// and stops the world several times a second: for collections, and for looks at
// the stacks of many goroutines, which last longer than collections do.
func litter(ctx context.Context, end time.Duration) {
	const (
		trees  = 64
		leaves = 2000
		idle   = 2000
	)
	parked := make(chan struct{})
	gone := make(chan struct{}, idle)
	for range idle {
		go func() { <-parked; gone <- struct{}{} }()
	}
	defer func() {
		close(parked)
		for range idle {
			<-gone
		}
	}()
	heap := make([]*leaf, trees)
	stacks := make([]byte, 1<<20)
	for i := 0; boottime.Now() < end && until(ctx, boottime.Now()+8*time.Millisecond); i++ {
		var tree *leaf
		for range leaves {
			tree = &leaf{links: [7]*leaf{tree}}
		}
		heap[i%trees] = tree
		switch i % 40 {
		case 0:
			runtime.GC()
		case 20:
			runtime.Stack(stacks, true)
		}
	}
	runtime.KeepAlive(heap)
}

// pauses are how often and how long the world stood still since they were begun.
type pauses struct {
	collections uint64
	counts      [2][]uint64
}

// watchPauses begins to count.
func watchPauses() pauses {
	p, _ := readPauses()
	return p
}

// end returns the collections since the beginning, and the longest pause of any
// kind, rounded up to the end of its bucket.
func (p pauses) end() (collections uint64, longest time.Duration) {
	now, bounds := readPauses()
	for kind, counts := range now.counts {
		for i, n := range counts {
			if n > p.counts[kind][i] {
				longest = max(longest, upTo(bounds[kind], i))
			}
		}
	}
	return now.collections - p.collections, longest
}

// upTo is the end of a bucket, or its beginning when it has none.
func upTo(bounds []float64, bucket int) time.Duration {
	seconds := bounds[bucket+1]
	if math.IsInf(seconds, 1) {
		seconds = bounds[bucket]
	}
	return time.Duration(seconds * float64(time.Second))
}

func readPauses() (p pauses, bounds [2][]float64) {
	samples := []metrics.Sample{
		{Name: "/sched/pauses/total/gc:seconds"}, {Name: "/sched/pauses/total/other:seconds"}, {Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(samples)
	for kind := range p.counts {
		h := samples[kind].Value.Float64Histogram()
		p.counts[kind], bounds[kind] = h.Counts, h.Buckets
	}
	p.collections = samples[2].Value.Uint64()
	return p, bounds
}
