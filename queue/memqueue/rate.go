package memqueue

import (
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

const second = int64(time.Second / time.Microsecond)

// rate counts admissions from the line in each of the last seconds.
type rate [60]struct {
	second int64
	count  int
}

func (c *rate) add(now int64, n int) {
	s := now / second
	slot := &c[s%int64(len(c))]
	if slot.second != s {
		slot.second, slot.count = s, 0
	}
	slot.count += n
}

// over is the number of admissions of the last minute, and how long ago they began.
func (c *rate) over(now int64) driver.Rate {
	oldest, n, s := now/second, 0, now/second
	for _, slot := range c {
		if slot.count > 0 && slot.second > s-int64(len(c)) && slot.second <= s {
			n += slot.count
			oldest = min(oldest, slot.second)
		}
	}
	if n == 0 {
		return driver.Rate{}
	}
	over := time.Duration(now-oldest*second) * time.Microsecond
	return driver.Rate{Admitted: n, Over: min(max(over, time.Second), time.Minute)}
}
