package redisqueue

import (
	"sync/atomic"
	"time"
)

// clock estimates the time of Redis by its last answer, for the names of the keys
// of minutes: a script needs its keys before it can read the time. A wrong estimate
// does no harm, since the script reports it.
type clock struct {
	start time.Time
	ahead atomic.Int64 // µs: Redis' time when the clock was made
}

func newClock() *clock {
	c := &clock{start: time.Now()}
	c.ahead.Store(c.start.UnixMicro())
	return c
}

// set takes an answer's time.
func (c *clock) set(now int64) { c.ahead.Store(now - time.Since(c.start).Microseconds()) }

// now is Redis' time in µs since 1970, about.
func (c *clock) now() int64 { return c.ahead.Load() + time.Since(c.start).Microseconds() }
