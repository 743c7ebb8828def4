package window

import (
	"slices"
	"time"
)

// Window is one window: the calls in it, and the time of the last of them,
// where it ends. The zero value stands for no call at all.
type Window struct {
	Calls int           `json:"calls"`
	End   time.Duration `json:"endNs"`
}

// Worst returns the fullest window of a log, the first of them when several are
// equally full. The times may be in any order and are left as they are.
func Worst(times []time.Duration, width time.Duration) Window {
	var worst Window
	each(times, width, func(w Window) {
		if w.Calls > worst.Calls {
			worst = w
		}
	})
	return worst
}

// Above returns at how many calls of a log the window that ends there holds more than
// limit calls; 0 means that no window is over the limit.
func Above(times []time.Duration, width time.Duration, limit int) int {
	n := 0
	each(times, width, func(w Window) {
		if w.Calls > limit {
			n++
		}
	})
	return n
}

// each visits the window that ends at every call, in order of time. Calls at
// one instant are visited one by one, each with those before it.
func each(times []time.Duration, width time.Duration, visit func(Window)) {
	if !slices.IsSorted(times) {
		times = slices.Clone(times)
		slices.Sort(times)
	}
	first := 0
	for i, t := range times {
		for t-times[first] >= width {
			first++
		}
		visit(Window{Calls: i - first + 1, End: t})
	}
}
