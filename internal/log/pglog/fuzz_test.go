package pglog

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A snapshot has three parts, the last of which may be empty; no part is lost, and only the
// snapshots of listed bound ids.
func FuzzParseSnapshot(f *testing.F) {
	f.Add("10:20:10,14,15", uint64(22))
	f.Add("10:20:10,14,19", uint64(0))
	f.Add("1:1:", uint64(1))
	f.Add("1:1", uint64(2))
	f.Add(":::", uint64(3))
	f.Fuzz(func(t *testing.T, s string, next uint64) {
		got, err := parseSnapshot(s)
		if err != nil {
			if strings.Count(s, ":") >= 2 || got != (since{}) {
				t.Fatalf("%q: %+v, %v", s, got, err)
			}
			return
		}
		xmin, rest, _ := strings.Cut(s, ":")
		running := strings.TrimSuffix(strings.TrimPrefix(got.running, "{"), "}")
		if got.bounded {
			first, err := strconv.ParseUint(got.first, 10, 64)
			if err != nil || rest != strconv.FormatUint(first+1, 10)+":"+strings.TrimPrefix(running+","+got.first, ",") {
				t.Fatalf("%q is read as %+v", s, got)
			}
			return
		}
		require.Equalf(t, s, xmin+":"+got.first+":"+running, "%q is read as %+v", s, got)
		xmax, err := strconv.ParseUint(got.first, 10, 64)
		long, ok := listed(s, next)
		if !ok {
			if err == nil && next >= xmax && next-xmax <= maxUnlisted && next <= math.MaxInt64 || long != s {
				t.Fatalf("%q up to %d is %q", s, next, long)
			}
			return
		}
		if again, err := parseSnapshot(long); err != nil || !again.bounded || again.first != strconv.FormatUint(next, 10) ||
			strings.Count(again.running, ",") < int(next-xmax)-1 || !strings.HasPrefix(again.running, "{"+running) {
			t.Fatalf("%q up to %d is %q, read as %+v (%v)", s, next, long, again, err)
		}
	})
}

// The head of a window has its parts in their fields, or is an error.
func FuzzParseHead(f *testing.F) {
	f.Add("10:20:10,14|22|7|8|0|8|1/2")
	f.Add("10:20:|22|7|8|-1|-1|")
	f.Add("1|2|3")
	f.Add("||||||")
	f.Fuzz(func(t *testing.T, s string) {
		h, err := parseHead(s)
		if err != nil {
			if h != (head{}) {
				t.Fatalf("%q: %+v beside %v", s, h, err)
			}
			return
		}
		f := strings.Split(s, "|")
		if h.snapshot != f[0] || h.server != f[6] {
			t.Fatalf("%q is read as %+v", s, h)
		}
		for i, n := range []int64{int64(h.next), h.highest, h.end, h.floor, h.bound} {
			if want, err := strconv.ParseInt(f[i+1], 10, 64); i > 0 && (err != nil || n != want) {
				t.Fatalf("%q is read as %+v", s, h)
			}
		}
	})
}
