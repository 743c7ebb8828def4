package pgbus

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log/logsub"
)

// heard counts the wake-ups of a notification.
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

func TestNotices(t *testing.T) {
	n, other := newNotices(), newNotices()
	for _, tc := range []struct {
		text string
		want heard
	}{
		{n.id + " g 1", heard{}}, // its own
		{other.id + " 1 7", heard{lanes: []int{1, 7}}},
		{other.id + " g", heard{groups: 1}},
		{other.id + " g 5", heard{groups: 1, lanes: []int{5}}},
		{other.id + " *", heard{groups: 1, all: 1}},
		{"", heard{groups: 1, all: 1}},
		{other.id + " 1 x", heard{groups: 1, all: 1}},
	} {
		var h heard
		n.hear(tc.text, &h)
		if h.all != tc.want.all || h.groups != tc.want.groups || tc.want.all == 0 && !slices.Equal(h.lanes, tc.want.lanes) {
			t.Errorf("%q woke %+v, want %+v", tc.text, h, tc.want)
		}
	}
	lanes := make([]int, 2000)
	for i := range lanes {
		lanes[i] = 1_000_000 + i
	}
	for k, all := range map[int]bool{900: false, 2000: true} {
		text := n.text(logsub.Change{Lanes: lanes[:k], Groups: true})
		if !strings.HasPrefix(text, n.id+" g ") || len(text) > maxText || strings.HasSuffix(text, " *") != all {
			t.Errorf("%d lanes make %d bytes: %.80s", k, len(text), text)
		}
	}
}

// Every notification of another process wakes readers or members, and our own wakes none; a
// malformed one wakes all.
func FuzzHear(f *testing.F) {
	f.Add("other 1 2 g")
	f.Add("")
	f.Add("other x 1")
	f.Add("other -1")
	f.Add("other  ")
	f.Add("other 99999999999999999999")
	f.Fuzz(func(t *testing.T, text string) {
		n := newNotices()
		h := &heard{}
		n.hear(text, h)
		if h.all == 0 && h.groups == 0 && len(h.lanes) == 0 {
			t.Fatalf("%q wakes none", text)
		}
		own := &heard{}
		n.hear(n.id+" "+text, own)
		require.Equalf(t, 0, own.all+own.groups+len(own.lanes), "our own %q wakes %+v", text, own)
	})
}

// A notice is decoded by another process as it was encoded.
func FuzzNotice(f *testing.F) {
	f.Add(1, 2, 3, true)
	f.Add(0, -5, 1<<40, false)
	f.Fuzz(func(t *testing.T, x, y, z int, groups bool) {
		h, want := &heard{}, []int{x, y, z}
		newNotices().hear(newNotices().text(logsub.Change{Lanes: want, Groups: groups}), h)
		if !slices.Equal(h.lanes, want) || h.all != 0 || (h.groups == 1) != groups {
			t.Fatalf("%v, %v is heard as %+v", want, groups, h)
		}
	})
}
