package report

import (
	"strings"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	id := func(n int) int { return n }
	for _, c := range []struct {
		of   []int
		want int
	}{{nil, 0}, {[]int{7}, 7}, {[]int{9, 1, 5}, 5}} {
		if got := Median(c.of, id); got != c.want {
			t.Errorf("median of %v: %d, want %d", c.of, got, c.want)
		}
	}
}

// A goal that cannot be missed proves nothing.
func TestGoals(t *testing.T) {
	for got, want := range map[float64]string{0.69: "MISSED", 0.7: "met", 1: "met"} {
		var out strings.Builder
		AtLeast(&out, "ratio", got, 0.7)
		if line := out.String(); !strings.Contains(line, "goal >= 0.7") || !strings.Contains(line, " "+want) {
			t.Errorf("%v: %q", got, line)
		}
	}
}

func TestCPU(t *testing.T) {
	before := CPU()
	for start := time.Now(); CPU()-before < 5*time.Millisecond; {
		if time.Since(start) > 10*time.Second {
			t.Fatal("no processor time was counted")
		}
	}
}
