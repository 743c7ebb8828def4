package idempotency_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/idempotency"
)

// FuzzParseKey: a parsed key is printable and not empty, and is the same key in quotes.
func FuzzParseKey(f *testing.F) {
	for _, s := range []string{"abc", `"abc"`, `"a\"b\\c"`, `"a`, "a b", "\"\x00\"", "é", `""`, ` "x" `} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		key, err := idempotency.ParseKey(value)
		if err != nil {
			assert.Equalf(t, "", key, "ParseKey(%q) = %q with %v", value, key, err)
			return
		}
		if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("ParseKey(%q) = %q", value, key)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, err := idempotency.ParseKey(quoted); again != key || err != nil {
			t.Errorf("ParseKey(%q) = %q, but %q in quotes is %q, %v", value, key, quoted, again, err)
		}
	})
}
