package kit_test

import (
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

// Metadata comes back as it was, or is refused.
func FuzzMetadata(f *testing.F) {
	f.Add("ce_type", "SeatHeld")
	f.Add("", "two\nlines \"<&>\" \u2028")
	f.Add("name", "\xff")
	f.Add("\xff", "value")
	f.Fuzz(func(t *testing.T, name, value string) {
		want := map[string]string{name: value, "other": "1"}
		text, err := kit.EncodeMetadata(want)
		require.Equalf(t, (utf8.ValidString(name) && utf8.ValidString(value)), (err == nil), "%q: %q, %v", name, value, err)
		if err != nil {
			return
		}
		got, err := kit.DecodeMetadata(text)
		if err != nil || !maps.Equal(got, want) {
			t.Fatalf("%s is read as %q, %v; want %q", text, got, err, want)
		}
	})
}

func TestDecodeMetadata(t *testing.T) {
	for _, text := range []string{"", "x", "[]", `{"a":1}`, `{"a":"b"`} {
		if got, err := kit.DecodeMetadata(text); err == nil || !strings.Contains(err.Error(), "no JSON object of strings") {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
	if got, err := kit.DecodeMetadata(`{"a":1,"b":"c"}`); err == nil || got["b"] != "c" {
		t.Errorf("of metadata in part, %q is read, %v", got, err)
	}
}
