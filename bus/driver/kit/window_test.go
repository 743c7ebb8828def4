package kit_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

// For any use by partitions, at most the window is out, and a single partition may use all of it.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 64).Draw(t, "size")
		w := kit.NewWindow(size, func(int) {})
		var here []int
		taken := map[int]int{}
		next, total := 0, 0
		t.Repeat(map[string]func(*rapid.T){
			"join": func(t *rapid.T) {
				if len(here) == 5 {
					t.Skip("enough")
				}
				w.Join(next)
				here = append(here, next)
				next++
			},
			"take": func(t *rapid.T) {
				if len(here) == 0 {
					t.Skip("no partitions")
				}
				p, most := rapid.SampledFrom(here).Draw(t, "partition"), rapid.IntRange(1, size).Draw(t, "most")
				n := w.Take(p, most)
				switch {
				case n < 0 || n > most:
					t.Fatalf("%d places of %d were taken", n, most)
				case len(here) == 1 && n != min(most, size-total):
					t.Fatalf("a lone partition gets %d of %d at %d of %d", n, most, total, size)
				}
				taken[p] += n
				total += n
			},
			"give": func(t *rapid.T) {
				i := slices.IndexFunc(here, func(p int) bool { return taken[p] > 0 })
				if i < 0 {
					t.Skip("nothing is taken")
				}
				w.Give(here[i])
				taken[here[i]]--
				total--
			},
			"leave": func(t *rapid.T) {
				if len(here) == 0 {
					t.Skip("no partitions")
				}
				i := rapid.IntRange(0, len(here)-1).Draw(t, "partition")
				p := here[i]
				w.Leave(p)
				w.Give(p) // late, and without an effect
				here = slices.Delete(here, i, i+1)
				total -= taken[p]
				delete(taken, p)
			},
			"": func(t *rapid.T) {
				if total > size {
					t.Fatalf("%d places of %d are taken", total, size)
				}
			},
		})
	})
}

func TestAStuckPartitionLeavesRoom(t *testing.T) {
	kicked := map[string]int{}
	w := kit.NewWindow(16, func(p string) { kicked[p]++ })
	for _, p := range []string{"stuck", "other", "third"} {
		w.Join(p)
	}
	if n := w.Take("stuck", 100); n < 12 || n > 14 {
		t.Errorf("a busy partition gets %d of 16 places, want most of them", n)
	}
	if w.Take("other", 1) == 0 || w.Take("third", 1) == 0 {
		t.Error("a stuck partition stops the others")
	}
	// A refused partition is told of the next free place.
	for _, p := range []string{"stuck", "other"} {
		for w.Take(p, 1) > 0 {
		}
	}
	w.Give("stuck")
	if kicked["other"] != 1 || kicked["stuck"] != 1 || kicked["third"] != 0 {
		t.Errorf("a free place was announced to %v, want stuck and other", kicked)
	}
}
