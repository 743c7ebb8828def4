package window

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const width = 10 * time.Nanosecond

// logs draws logs that have ties, gaps, and calls right at the edge of a
// window. The times are in no order.
func logs() *rapid.Generator[[]time.Duration] {
	return rapid.SliceOfN(rapid.Map(rapid.Int64Range(-40, 40), func(n int64) time.Duration { return time.Duration(n) }), 0, 60)
}

// holds counts the calls in (end-width, end].
func holds(times []time.Duration, end time.Duration) int {
	n := 0
	for _, t := range times {
		if t > end-width && t <= end {
			n++
		}
	}
	return n
}

func TestWorstIsTheFullestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := logs().Draw(t, "times")
		before := slices.Clone(times)
		got := Worst(times, width)
		if !slices.Equal(before, times) {
			t.Fatalf("the log was changed")
		}
		// Every end there is, not only the calls.
		most := 0
		for end := time.Duration(-60); end <= 60; end++ {
			most = max(most, holds(times, end))
		}
		require.Equal(t, most, got.Calls, "calls")
		if most == 0 {
			return
		}
		if !slices.Contains(times, got.End) || holds(times, got.End) != most {
			t.Fatalf("the window that ends at %d holds %d calls, want %d", got.End, holds(times, got.End), most)
		}
		for end := time.Duration(-60); end < got.End; end++ {
			if holds(times, end) == most {
				t.Fatalf("the window of %d is as full and earlier than that of %d", end, got.End)
			}
		}
	})
}

func TestAboveCountsOverfullWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := logs().Draw(t, "times")
		limit := rapid.IntRange(0, 12).Draw(t, "limit")
		// The naive count takes the calls one by one: ties are over the limit
		// from the first call too many on.
		sorted := slices.Clone(times)
		slices.Sort(sorted)
		want := 0
		for i := range sorted {
			if holds(sorted[:i+1], sorted[i]) > limit {
				want++
			}
		}
		require.Equal(t, want, Above(times, width, limit))
		if over := Worst(times, width).Calls > limit; over != (want > 0) {
			t.Fatalf("Worst says over=%v, Above counts %d", over, want)
		}
	})
}

func TestCounterAgreesWithTheLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := logs().Draw(t, "times")
		slices.Sort(times)
		c := NewCounter(width)
		for i, at := range times {
			if got, want := c.Add(at), holds(times[:i+1], at); got != want {
				t.Fatalf("call %d at %d: %d, want %d", i, at, got, want)
			}
		}
		if got, want := c.Worst(), Worst(times, width); got != want {
			t.Fatalf("worst %+v, want %+v", got, want)
		}
	})
}

func TestCounterGrowsWhileItWraps(t *testing.T) {
	c := NewCounter(time.Second)
	at := time.Duration(0)
	for range 900 { // moves the head away from the start
		at += 10 * time.Millisecond
		c.Add(at)
	}
	for want := 101; want <= 5000; want++ {
		at += time.Nanosecond
		if got := c.Add(at); got != want {
			t.Fatalf("got %d calls, want %d", got, want)
		}
	}
	if got := c.Add(at + time.Second); got != 1 {
		t.Errorf("one width later %d calls are left", got)
	}
}

func TestCounterKeepsOrder(t *testing.T) {
	c := NewCounter(width)
	c.Add(100)
	assert.Equal(t, 2, c.Add(80), "a call from before the last one")
	assert.Equal(t, 3, c.Add(109), "it must count at the last one's time")
	assert.Equal(t, 1, NewCounter(width).Add(-5), "a first call at a negative time")
}

func TestEdge(t *testing.T) {
	for _, c := range []struct {
		times []time.Duration
		want  Window
	}{
		{nil, Window{}},
		{[]time.Duration{0}, Window{1, 0}},
		{[]time.Duration{0, width}, Window{1, 0}},
		{[]time.Duration{0, width - 1}, Window{2, width - 1}},
		{[]time.Duration{5, 5, 5}, Window{3, 5}},
		{[]time.Duration{30, 0, 31, 3}, Window{2, 3}},
	} {
		if got := Worst(c.times, width); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.times, got, c.want)
		}
	}
}

func TestNoWidthPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a counter of no width was made")
		}
	}()
	NewCounter(0)
}
