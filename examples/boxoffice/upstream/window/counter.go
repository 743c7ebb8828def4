package window

import "time"

// Counter counts the calls of the window that ends now. It remembers the times
// of the last window's calls and nothing older, so its memory follows the
// fullest window. It is not safe for concurrent use.
type Counter struct {
	width time.Duration
	times []time.Duration // of the last window, in order
	last  time.Duration
	worst Window
}

// NewCounter returns a counter of windows that are width long. A width of 0 or
// less counts calls of the same instant as no window at all, so it is a
// programming error and panics.
func NewCounter(width time.Duration) *Counter {
	if width <= 0 {
		panic("window: the width of a window must be above 0")
	}
	return &Counter{width: width}
}

// Add counts a call at t and returns how many calls the window that ends there
// holds, this one among them. Calls come in order of time; a call from before
// the last one counts at the last one's time.
func (c *Counter) Add(t time.Duration) int {
	if c.worst.Calls > 0 {
		t = max(t, c.last)
	}
	c.last = t
	for len(c.times) > 0 && t-c.times[0] >= c.width {
		c.times = c.times[1:]
	}
	c.times = append(c.times, t)
	if len(c.times) > c.worst.Calls {
		c.worst = Window{Calls: len(c.times), End: t}
	}
	return len(c.times)
}

// Worst returns the fullest window since the start, the first of them when
// several are equally full.
func (c *Counter) Worst() Window { return c.worst }
