package log

import (
	"hash/fnv"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Other processes and readers in other languages find the lane of a key by FNV-1a.
func FuzzLaneOf(f *testing.F) {
	for _, key := range []string{"a", "seat-17", "é\xff\x00"} {
		f.Add(key, 16)
	}
	f.Fuzz(func(t *testing.T, key string, lanes int) {
		if key == "" || lanes <= 1 || lanes > 1<<20 {
			assert.Equal(t, 0, LaneOf("", lanes), "keyless entries are in lane")
			return
		}
		h := fnv.New32a()
		h.Write([]byte(key)) //nolint:errcheck // never fails
		if got, want := LaneOf(key, lanes), int(h.Sum32()%uint32(lanes)); got != want {
			t.Errorf("%q is in lane %d of %d, want %d", key, got, lanes, want)
		}
	})
}
