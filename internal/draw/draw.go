// Package draw generates attributes and data of events, for property tests.
package draw

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// Text generates values of the String type of CloudEvents, with a preference for characters that
// some encoding has to escape.
func Text() *rapid.Generator[string] {
	r := rapid.OneOf(
		rapid.SampledFrom([]rune(`abcXYZ019 "\%/:;,=<>&'{}[]`+"é서울🎟\u2028\u2029\ufeff\ufffd")),
		rapid.Rune().Filter(func(r rune) bool {
			return !unicode.IsControl(r) && r&0xfffe != 0xfffe && (r < 0xfdd0 || r > 0xfdef) && utf8.ValidRune(r)
		}),
	)
	return rapid.StringOfN(r, 0, 12, -1)
}

// NotBlank reports whether a text has more than white space.
func NotBlank(s string) bool { return strings.TrimSpace(s) != "" }

// Maybe generates a value of g, or "".
func Maybe(g *rapid.Generator[string]) *rapid.Generator[string] {
	return rapid.OneOf(rapid.Just(""), g)
}

// Instant generates any time that RFC 3339 can represent, in any zone.
func Instant() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "no time") {
			return time.Time{}
		}
		from, to := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
		sec := rapid.Int64Range(from.Unix(), to.Unix()).Draw(t, "sec")
		nsec := rapid.SampledFrom([]int64{0, 1, 1000, 120_000_000, 999_999_999}).Draw(t, "nsec")
		zone := time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(t, "zone"))
		return time.Unix(sec, nsec).In(zone)
	})
}

// JSON generates any JSON, compact, indented or with white space around it.
func JSON() *rapid.Generator[[]byte] {
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		scalar := rapid.OneOf(
			rapid.Just[any](nil),
			rapid.Map(rapid.Bool(), func(v bool) any { return v }),
			rapid.Map(rapid.Int64(), func(v int64) any { return v }),
			rapid.Map(rapid.Float64Range(-1e300, 1e300), func(v float64) any { return v }),
			rapid.Map(rapid.String(), func(v string) any { return v }),
		)
		if depth == 0 {
			return scalar
		}
		return rapid.OneOf(scalar,
			rapid.Map(rapid.SliceOfN(value(depth-1), 0, 3), func(v []any) any { return v }),
			rapid.Map(rapid.MapOfN(rapid.String(), value(depth-1), 0, 3), func(v map[string]any) any { return v }),
		)
	}
	return rapid.Custom(func(t *rapid.T) []byte {
		v := value(3).Draw(t, "value")
		switch rapid.IntRange(0, 2).Draw(t, "form") {
		case 0:
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return b
		case 1:
			b, err := json.MarshalIndent(v, "", "\t")
			if err != nil {
				t.Fatal(err)
			}
			return b
		default:
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(v); err != nil {
				t.Fatal(err)
			}
			return append([]byte(" \r\n"), b.Bytes()...)
		}
	})
}
