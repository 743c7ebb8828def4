package window

import "time"

// Counter counts the calls of the window that ends now. It remembers the times
// of the last window's calls and nothing older, so its memory follows the
// fullest window. It is not safe for concurrent use.
type Counter struct {
	width time.Duration
	ring  []time.Duration // a power of two long
	head  int             // where the oldest time is
	n     int
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
	return &Counter{width: width, ring: make([]time.Duration, 1024)}
}

// Add counts a call at t and returns how many calls the window that ends there
// holds, this one among them. Calls come in order of time; a call from before
// the last one counts at the last one's time.
func (c *Counter) Add(t time.Duration) int {
	if c.worst.Calls > 0 {
		t = max(t, c.last)
	}
	c.last = t
	for c.n > 0 && t-c.ring[c.head] >= c.width {
		c.head = (c.head + 1) & (len(c.ring) - 1)
		c.n--
	}
	if c.n == len(c.ring) {
		c.grow()
	}
	c.ring[(c.head+c.n)&(len(c.ring)-1)] = t
	c.n++
	if c.n > c.worst.Calls {
		c.worst = Window{Calls: c.n, End: t}
	}
	return c.n
}

// Worst returns the fullest window since the start, the first of them when
// several are equally full.
func (c *Counter) Worst() Window { return c.worst }

func (c *Counter) grow() {
	ring := make([]time.Duration, 2*len(c.ring))
	n := copy(ring, c.ring[c.head:])
	copy(ring[n:], c.ring[:c.head])
	c.ring, c.head = ring, 0
}
