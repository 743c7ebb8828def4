package sqlstore

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCleanFitsAColumn(t *testing.T) {
	for _, in := range []string{"", "plain", "a\x00b", "\xff\xfe", strings.Repeat("é", longestError)} {
		out := Clean(in)
		if !utf8.ValidString(out) || strings.ContainsRune(out, 0) || len(out) > longestError+len("…") {
			t.Errorf("Clean(%.20q) = %.20q of %d bytes", in, out, len(out))
		}
	}
	if got := Clean("a\x00b"); got != "ab" {
		t.Errorf("Clean = %q", got)
	}
}
