package sqlstore

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestCleanFitsAColumn(t *testing.T) {
	for _, in := range []string{"", "plain", "a\x00b", "\xff\xfe", strings.Repeat("é", longestError)} {
		out := Clean(in)
		if !utf8.ValidString(out) || strings.ContainsRune(out, 0) || len(out) > longestError+len("…") {
			t.Errorf("Clean(%.20q) = %.20q of %d bytes", in, out, len(out))
		}
	}
	assert.Equal(t, "ab", Clean("a\x00b"), "Clean =")
}
