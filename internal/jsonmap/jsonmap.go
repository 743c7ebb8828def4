// Package jsonmap writes maps of strings as JSON objects: headers, which every message
// has.
//
//	text := jsonmap.Encode(metadata)
//
// The text is that of encoding/json, which takes four times as long (BenchmarkEncode):
// names in order, so that equal maps are equal texts, and bytes that are not UTF-8 replaced
// (TestEncode, FuzzEncode).
package jsonmap

import (
	"encoding/json"
	"slices"
)

// few names are sorted without an allocation.
const few = 24

// Encode returns m as a JSON object, except the names in without.
func Encode(m map[string]string, without ...string) string {
	var space [few]string
	names, size := space[:0], 2
	for name, value := range m {
		if !slices.Contains(without, name) {
			names = append(names, name)
			size += len(name) + len(value) + 6
		}
	}
	slices.Sort(names)
	b := append(make([]byte, 0, size), '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = quote(b, name)
		b = append(b, ':')
		b = quote(b, m[name])
	}
	return string(append(b, '}'))
}

// quote appends a string, unchanged if nothing in it has to be escaped.
func quote(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			text, _ := json.Marshal(s) // of a string it cannot fail
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
