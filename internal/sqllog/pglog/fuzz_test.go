package pglog

import (
	"strings"
	"testing"
)

// A snapshot has three parts, the last of which may be empty; nothing of it is lost.
func FuzzParseSnapshot(f *testing.F) {
	f.Add("10:20:10,14,15")
	f.Add("1:1:")
	f.Add("1:1")
	f.Add(":::")
	f.Fuzz(func(t *testing.T, s string) {
		xmax, running, err := parseSnapshot(s)
		if err != nil {
			if strings.Count(s, ":") >= 2 || xmax != "" || running != "" {
				t.Fatalf("%q: %q, %q, %v", s, xmax, running, err)
			}
			return
		}
		xmin, _, _ := strings.Cut(s, ":")
		if len(running) < 2 || xmin+":"+xmax+":"+running[1:len(running)-1] != s || running[0] != '{' || running[len(running)-1] != '}' {
			t.Fatalf("%q is read as %q, %q", s, xmax, running)
		}
	})
}
