package memsse

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A cursor of a sweep is a number in the form in which it is written, or an error.
func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add("zz")
	f.Add("-1")
	f.Add("3w5e11264sgsg")
	f.Fuzz(func(t *testing.T, from string) {
		n, err := parseCursor(from)
		if err != nil {
			require.EqualValuesf(t, 0, n, "%q is refused, and is %d", from, n)
			return
		}
		if again, err := parseCursor(formatCursor(n)); err != nil || again != n {
			t.Fatalf("%d comes back as %d, %v", n, again, err)
		}
	})
}
