package ops

import (
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
)

// watchedFor is how long after a report was asked for the rooms and the letters are looked at, and
// not only counted.
const watchedFor = 30 * time.Second

// attention knows whether reports are asked for. Parts that look at more in that time have a waker.
type attention struct {
	last   atomic.Int64 // when a report was asked for, in Unix nanoseconds
	wakers []signal.Signal
}

// waker is signalled by the first report that is asked for after a while.
func (a *attention) waker() signal.Signal {
	wake := signal.New()
	a.wakers = append(a.wakers, wake)
	return wake
}

// pay records that a report was asked for.
func (a *attention) pay() {
	if now := time.Now().UnixNano(); now-a.last.Swap(now) > int64(watchedFor) {
		for _, wake := range a.wakers {
			wake.Wake()
		}
	}
}

// paid reports whether a report was asked for lately.
func (a *attention) paid() bool { return time.Now().UnixNano()-a.last.Load() <= int64(watchedFor) }
