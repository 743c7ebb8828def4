package rediscounter

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzDeltas: a script's answer is pairs of a key and a number, or an error.
func FuzzDeltas(f *testing.F) {
	f.Add("post-1\x005\x00post-2\x00-7")
	f.Add("post-1")
	f.Add("a\x009223372036854775808")
	f.Add("\x00")
	f.Fuzz(func(t *testing.T, text string) {
		answer := strings.Split(text, "\x00")
		all, err := deltas(answer)
		if err != nil {
			if all != nil {
				t.Fatalf("%q is %v beside %v", answer, all, err)
			}
			return
		}
		require.Equalf(t, len(answer), len(all)*2, "%q is read as %v", answer, all)
		for i, d := range all {
			n, err := strconv.ParseInt(answer[2*i+1], 10, 64)
			if err != nil || d.Key != answer[2*i] || d.N != n {
				t.Fatalf("%q is read as %v", answer, all)
			}
		}
	})
}

// FuzzPartOfBatch: a batch's id names an existing part.
func FuzzPartOfBatch(f *testing.F) {
	f.Add("07-abc")
	f.Add("-1-x")
	f.Add("99999999999999999999-x")
	f.Add("")
	f.Fuzz(func(t *testing.T, id string) {
		if part, ok := partOfBatch(id); ok && (part < 0 || part >= parts || !strings.Contains(id, "-")) {
			t.Fatalf("%q is of part %d", id, part)
		}
	})
}
