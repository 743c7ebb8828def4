package meter

import (
	"sync/atomic"
	"time"
)

// clock returns the store's time. It runs on this process's monotonic clock, which is
// never set.
type clock struct {
	began  time.Time
	offset atomic.Int64 // the store's time when this clock began, in Unix nanoseconds
	known  atomic.Bool  // the store has told it
}

// start begins with the local time, until the store's time is known.
func (c *clock) start() {
	c.began = time.Now()
	c.offset.Store(c.began.UnixNano())
}

func (c *clock) elapsed() time.Duration { return time.Since(c.began) }

func (c *clock) now() time.Time { return time.Unix(0, c.offset.Load()+int64(c.elapsed())) }

// learn takes the store's time from the answer to a call sent at the given time. The
// store read its clock between the two, so only an impossible offset is changed: one
// that wavered with the network would tear seconds apart.
func (c *clock) learn(sent time.Duration, now time.Time) {
	received := c.elapsed()
	least, greatest := now.UnixNano()-int64(received), now.UnixNano()-int64(sent)
	if old := c.offset.Load(); old < least || old > greatest {
		c.offset.Store(least + (greatest-least)/2)
	}
	c.known.Store(true)
}
