package pgbus

import (
	"slices"
	"testing"
)

// heard is what a notification woke.
type heard struct {
	lanes       []int
	all, groups int
}

func (h *heard) Wake(lanes ...int) {
	if len(lanes) == 0 {
		h.all++
	}
	h.lanes = append(h.lanes, lanes...)
}
func (h *heard) WakeGroups() { h.groups++ }

// A notification of anybody's wakes somebody, and our own wakes nobody; what is not
// understood wakes all.
func FuzzHear(f *testing.F) {
	f.Add("other 1 2 g")
	f.Add("")
	f.Add("other x 1")
	f.Add("other -1")
	f.Add("other  ")
	f.Add("other 99999999999999999999")
	f.Fuzz(func(t *testing.T, text string) {
		b := newBell()
		h := &heard{}
		b.hear(text, h)
		if h.all == 0 && h.groups == 0 && len(h.lanes) == 0 {
			t.Fatalf("%q wakes nobody", text)
		}
		own := &heard{}
		b.hear(b.id+" "+text, own)
		if own.all+own.groups+len(own.lanes) != 0 {
			t.Fatalf("our own %q wakes %+v", text, own)
		}
	})
}

// What a bell says is heard by another as it was meant.
func FuzzBell(f *testing.F) {
	f.Add(1, 2, 3)
	f.Add(0, -5, 1<<40)
	f.Fuzz(func(t *testing.T, x, y, z int) {
		b, h := newBell(), &heard{}
		want := []int{x, y, z}
		for _, n := range want {
			b.lanes[n] = struct{}{}
		}
		newBell().hear(b.id+b.numbers(), h)
		slices.Sort(want)
		if want = slices.Compact(want); !slices.Equal(h.lanes, want) || h.all != 0 {
			t.Fatalf("%v is heard as %+v", want, h)
		}
	})
}
