package payment

import (
	"testing"
	"unicode/utf8"
)

// The gateway's detail of a refusal goes into a log: it is text, and not long.
func FuzzDetail(f *testing.F) {
	f.Add([]byte(`{"detail":"no such card"}`))
	f.Add([]byte(`<html>`))
	f.Add([]byte(nil))
	long := []byte(`{"detail":"`)
	for range 100 {
		long = append(long, "결제"...)
	}
	f.Add(append(long, `"}`...))
	f.Fuzz(func(t *testing.T, answer []byte) {
		if s := detail(answer); len(s) > maxDetail || !utf8.ValidString(s) {
			t.Fatalf("%q says %q", answer, s)
		}
	})
}
