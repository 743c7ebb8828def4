package keyed

import (
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace/ratelimit/keyed/driver"
)

// memory keeps times of keys in µs, by the clock of the process, up to a number of them.
type memory struct {
	start time.Time
	most  int

	mu    sync.Mutex
	times map[string]int64
}

func newMemory(most int) *memory {
	return &memory{start: time.Now(), most: most, times: map[string]int64{}}
}

// now is above 0, which stands for an unknown key.
func (m *memory) now() int64 { return time.Since(m.start).Microseconds() + 1 }

// take decides a call.
func (m *memory) take(a driver.Ask) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	next, wait := decide(a.Limit, m.times[a.Key], now)
	if wait == 0 {
		m.keep(a.Key, next, now)
	}
	return time.Duration(wait) * time.Microsecond
}

// until remembers that a key is to wait.
func (m *memory) until(key string, wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	m.keep(key, now+wait.Microseconds(), now)
}

// left is how long a key is still to wait.
func (m *memory) left(key string) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Duration(max(0, m.times[key]-m.now())) * time.Microsecond
}

// keep stores a time. Where there are too many, those that have passed go, and then any.
func (m *memory) keep(key string, at, now int64) {
	if _, known := m.times[key]; !known && len(m.times) >= m.most {
		for old, time := range m.times {
			if time <= now {
				delete(m.times, old)
			}
		}
		for old := range m.times { // in random order
			if len(m.times) <= m.most*7/8 {
				break
			}
			delete(m.times, old)
		}
	}
	m.times[strings.Clone(key)] = at // a key may be part of a large request
}

// decide decides one call: full is when the key's burst is full again, in µs. The wait is
// 0 for a call that was taken.
func decide(l driver.Limit, full, now int64) (next, wait int64) {
	every := l.Every.Microseconds()
	span := every * int64(l.Burst)
	full = min(max(full, now), now+span) // also after the clock was set back
	if wait = full + every - now - span; wait > 0 {
		return full, wait
	}
	return full + every, 0
}
