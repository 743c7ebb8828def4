package ratelimit

import (
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

// Stats is the state of a limiter, in calls of the upstream. It counts this process only.
type Stats struct {
	// Acquired since the start, by priority (index Low, High).
	Acquired [2]uint64
	// Rejected since the start, by priority and reason; every reason is there.
	Rejected [2]map[Reason]uint64
	// Returned since the start, of the acquired calls and of grants without a caller.
	Returned uint64
	// StoreCalls since the start, without those that gave permits back.
	StoreCalls uint64
	// RPS is the number of calls granted within the last second.
	RPS float64
	// Remaining is how many calls could be granted at once, by priority, and DayUsed how many
	// calls the day has used, by the store's last answer.
	Remaining [2]int
	DayUsed   int64
	// Age is the age of that answer, or of the limiter if there was no answer. Since then, time
	// has filled the buckets, and other processes have taken calls.
	Age time.Duration
	// Waiting is how many callers wait, by priority.
	Waiting [2]int
	Breaker BreakerState
}

// Stats returns a snapshot. It does not call the store.
func (l *Limiter) Stats() Stats {
	s := Stats{Returned: l.counts.returned.Load(), StoreCalls: l.counts.calls.Load(), Breaker: l.breaker.standing()}
	for p := range s.Acquired {
		s.Acquired[p] = l.counts.acquired[p].Load()
		s.Rejected[p] = make(map[Reason]uint64, len(reasons))
		for i, reason := range reasons {
			s.Rejected[p][reason] = l.counts.rejected[p][i].Load()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	s.RPS, s.Age = l.recent.sum(now), now-l.seen
	s.Remaining, s.DayUsed = l.remain, l.day.Used
	s.Waiting = [2]int{l.waiting[Low].len, l.waiting[High].len}
	return s
}

var reasons = [...]Reason{driver.ReasonGlobal, driver.ReasonLowCap, driver.ReasonYield, driver.ReasonLowShare, driver.ReasonDay, driver.ReasonUnavailable}

type counts struct {
	acquired [2]atomic.Uint64
	rejected [2][len(reasons)]atomic.Uint64
	returned atomic.Uint64
	calls    atomic.Uint64
}

func (c *counts) acquire(p Priority, n int) { c.acquired[p].Add(uint64(n)) }

func (c *counts) reject(p Priority, reason Reason, n int) {
	for i, r := range reasons {
		if r == reason {
			c.rejected[p][i].Add(uint64(n))
			return
		}
	}
}

// recent counts the calls granted within the last second, in slots of 50 ms.
type recent struct {
	slots [20]int
	last  int64 // the slot in use, counted from the start
}

const slot = time.Second / time.Duration(len(recent{}.slots))

func (r *recent) add(now time.Duration, n int) {
	r.forget(now)
	r.slots[r.last%int64(len(r.slots))] += n
}

func (r *recent) sum(now time.Duration) float64 {
	r.forget(now)
	sum := 0
	for _, n := range r.slots {
		sum += n
	}
	return float64(sum)
}

func (r *recent) forget(now time.Duration) {
	at := int64(now / slot)
	if at-r.last >= int64(len(r.slots)) {
		*r = recent{last: at}
		return
	}
	for r.last < at {
		r.last++
		r.slots[r.last%int64(len(r.slots))] = 0
	}
}
