package cursorstore

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCleanFitsAColumn(t *testing.T) {
	for _, in := range []string{"", "plain", "a\x00b", "\xff\xfe", strings.Repeat("é", longestError)} {
		out := clean(in)
		if !utf8.ValidString(out) || strings.ContainsRune(out, 0) || len(out) > longestError+len("…") {
			t.Errorf("clean(%.20q) = %.20q of %d bytes", in, out, len(out))
		}
	}
	if got := clean("a\x00b"); got != "ab" {
		t.Errorf("clean = %q", got)
	}
}
