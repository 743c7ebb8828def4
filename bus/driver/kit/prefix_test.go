package kit_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

// For any order in which messages are done, the prefix has no gap, and the messages done behind
// it are known.
func TestTracker(t *testing.T) {
	for range 200 {
		var tr kit.Tracker[int]
		n := 1 + rand.IntN(300)
		done := make([]bool, n)
		for i := range n {
			if seq := tr.Add(i); seq != int64(i) {
				t.Fatalf("message %d has the number %d", i, seq)
			}
		}
		for _, i := range rand.Perm(n) {
			before, _ := tr.Prefix()
			grown := tr.Done(int64(i))
			done[i] = true
			gap := slices.Index(done, false)
			if gap < 0 {
				gap = n
			}
			last, ok := tr.Prefix()
			if ok != (gap > 0) || ok && last != gap-1 {
				t.Fatalf("the prefix ends with %d (%t), want %d", last, ok, gap-1)
			}
			require.Equalf(t, (i == 0 || i == before+1 && last >= i), grown, "grown is %t after %d, with the prefix at %d, then %d", grown, i, before, last)
			require.Equal(t, n-gap, tr.Span(), "the span")
			if first, ok := tr.Gap(); ok != (gap < n) || ok && first != gap {
				t.Fatalf("the gap is at %d (%t), want %d", first, ok, gap)
			}
			var behind []int
			for j := gap; j < n; j++ {
				if done[j] {
					behind = append(behind, j)
				}
			}
			if !slices.Equal(tr.Behind(), behind) {
				t.Fatalf("behind the gap are %v, want %v", tr.Behind(), behind)
			}
		}
		require.False(t, tr.Done(0), "a message that is done twice has moved the prefix")
	}
}

// A tracker does not grow with the number of messages.
func TestTrackerStaysSmall(t *testing.T) {
	var tr kit.Tracker[[4]int]
	tr.Done(tr.Add([4]int{}))
	if n := testing.AllocsPerRun(10_000, func() {
		a, b := tr.Add([4]int{}), tr.Add([4]int{})
		tr.Done(b)
		tr.Done(a)
	}); n > 0 {
		t.Errorf("%v allocations for two messages", n)
	}
}

func TestEncode(t *testing.T) {
	for range 500 {
		base := rand.Int64N(1 << 40)
		want := map[int64]struct{}{}
		for range rand.IntN(300) {
			want[base+rand.Int64N(600)] = struct{}{}
		}
		numbers := slices.Collect(maps.Keys(want))
		text := kit.EncodeDone(base, numbers, 1<<20)
		got, err := kit.DecodeDone(base, text)
		if err != nil || !maps.Equal(got, want) {
			t.Fatalf("%q is %v, %v; want %v", text, got, err, want)
		}
		// Numbers that do not fit are left out from the end.
		most := rand.IntN(len(text) + 1)
		text = kit.EncodeDone(base, numbers, most)
		got, err = kit.DecodeDone(base, text)
		if err != nil || len(text) > most {
			t.Fatalf("%q in %d bytes: %v", text, most, err)
		}
		sorted := slices.Sorted(maps.Keys(want))
		for _, n := range sorted[:len(got)] {
			if _, ok := got[n]; !ok {
				t.Fatalf("%d is missing, and a greater one is not", n)
			}
		}
	}
}

// Kafka keeps 4,096 bytes beside an offset: enough for 1,400 gaps.
func TestEncodeFits(t *testing.T) {
	var numbers []int64
	for n := range int64(2000) {
		numbers = append(numbers, 1000+2*n)
	}
	got, err := kit.DecodeDone(999, kit.EncodeDone(999, numbers, 4096))
	if err != nil || len(got) < 1400 {
		t.Errorf("%d of %d numbers fit, %v", len(got), len(numbers), err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(int64(0), kit.EncodeDone(0, []int64{1, 2, 3, 9}, 100))
	f.Add(int64(7), "")
	f.Add(int64(7), "/////////////w")
	f.Fuzz(func(t *testing.T, base int64, text string) {
		numbers, err := kit.DecodeDone(base, text)
		if err != nil {
			return
		}
		for n := range numbers {
			if n < base {
				t.Errorf("%d is below %d", n, base)
			}
		}
	})
}
