package sqlstore

import (
	"encoding/json"
	"strings"
	"time"
)

// Array returns a JSON array, which all databases can expand in SQL.
func Array[T int64 | string](values []T) string {
	text, err := json.Marshal(values)
	if err != nil {
		return "[]" // integers and strings always marshal
	}
	return string(text)
}

// longestError bounds the stored text of an error, in bytes.
const longestError = 2000

// Clean makes an error's text fit a text column.
func Clean(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
	if len(s) > longestError {
		s = strings.ToValidUTF8(s[:longestError], "") + "…"
	}
	return s
}

// Micros returns a duration of n microseconds.
func Micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// Instant returns the time n microseconds after 1970, and the zero time for 0.
func Instant(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}
