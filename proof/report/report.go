package report

import (
	"cmp"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// Median of one figure of all; zero when there are none.
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
