package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"
)

// Title writes the heading of a section's results.
func Title(out io.Writer, format string, args ...any) {
	fmt.Fprintf(out, "\n"+format+"\n\n", args...)
}

// Goal writes a figure, what it should be, and whether it is.
func Goal(out io.Writer, what string, got float64, goal string, met bool) {
	mark := "met"
	if !met {
		mark = "MISSED"
	}
	fmt.Fprintf(out, "%-58s %8.2f   goal %-8s %s\n", what, got, goal, mark)
}

// AtLeast is Goal for a ratio that must not be smaller.
func AtLeast(out io.Writer, what string, got, goal float64) {
	Goal(out, what, got, fmt.Sprintf(">= %g", goal), got >= goal)
}

// Figure writes a figure that has no goal.
func Figure(out io.Writer, what string, got float64) { Goal(out, what, got, "none", true) }

// Median of one figure of all; zero when there is none.
func Median[T any, N cmp.Ordered](all []T, of func(T) N) N {
	var none N
	if len(all) == 0 {
		return none
	}
	values := make([]N, len(all))
	for i, v := range all {
		values[i] = of(v)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// MS is a duration in milliseconds, as text.
func MS(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/1e6) }

// Micros is a duration in microseconds.
func Micros(d time.Duration) float64 { return float64(d) / 1e3 }

// CPU is the processor time that this process has used.
func CPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
