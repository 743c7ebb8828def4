package event

import "testing"

// FuzzPercent checks that an encoded value is printable ASCII without quotes and decodes to
// itself.
func FuzzPercent(f *testing.F) {
	for _, s := range []string{"", "a b", `"`, "%", "%41", "é\x00\r\n", "\xff", `"a\"b"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		encoded := percentEncode(value)
		for i := range len(encoded) {
			if c := encoded[i]; c <= ' ' || c >= 0x7f || c == '"' {
				t.Fatalf("%q is written as %q", value, encoded)
			}
		}
		if got := percentDecode(encoded); got != value {
			t.Fatalf("%q is written as %q and read as %q", value, encoded, got)
		}
		if got := percentDecode(value); len(got) > len(value) {
			t.Fatalf("%q grows to %q", value, got)
		}
	})
}
