package countertest

import (
	"crypto/rand"
	"fmt"
	"strings"
)

// fresh returns a unique name for a counter.
func fresh() string { return "t-" + strings.ToLower(rand.Text()) }

// odd are keys that are easily confused with each other or with special values.
var odd = []string{"a", "A", "a ", " a", "a{b}", "{a}", "ä", "a:b", "*", "'", `"`, `\`, "%s", "<a&b>", "日本", strings.Repeat("x", 200)}

func expect(what string, got, want any) error {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	return nil
}
