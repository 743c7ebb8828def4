package queuepage

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// A colour is #rrggbb, and a mix of two colours is one again: nothing else gets into
// the style sheet.
func FuzzColour(f *testing.F) {
	f.Add("#f6f2e9", "#1b2a2b", 0.5)
	f.Add("#+12345", "red", 0.0)
	f.Add("#12_456", "#ffffff", 1.0)
	f.Add("é#12345", "", 0.1)
	plain := regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)
	f.Fuzz(func(t *testing.T, a, b string, part float64) {
		_, err := parseColour(a)
		require.Equalf(t, plain.MatchString(a), (err == nil), "%q: %v", a, err)
		if part < 0 || part > 1 {
			t.Skip()
		}
		if m := mix(a, b, part); !plain.MatchString(m) {
			t.Fatalf("%q and %q make %q", a, b, m)
		}
		if c := contrast(a, b); !(c >= 1 && c <= 21.001) {
			t.Fatalf("%q on %q has the contrast %v", a, b, c)
		}
	})
}
