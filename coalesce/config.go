package coalesce

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Config configures a [Coalescer]. The zero value works.
type Config struct {
	// HighTTL and LowTTL are how long a lock stands if no call ends it: 30 s and 60 s when
	// zero. They bound how long a crashed worker, or a request with an unknown outcome, keeps a
	// key from being refreshed. Work that takes longer, including the wait in its queue, has to
	// extend its lock; otherwise a second run can begin beside it.
	HighTTL, LowTTL time.Duration
	// VersionTTL is how long a key's version is kept after the last change; 45 min when zero.
	// It should exceed the time that an event may wait in its queue: an older event is no
	// longer recognised as obsolete. It must exceed the locks' TTLs. Each key costs Redis about
	// 100 bytes until then.
	VersionTTL time.Duration
	// Timeout bounds each call of the store; 1 s when zero. After it the call is refused. A
	// caller's own deadline counts too.
	Timeout time.Duration
	// Breaker refuses calls at once while the store is unavailable.
	Breaker Breaker
	// Hooks report decisions, conflicts and refusals.
	Hooks Hooks
}

// Breaker configures the circuit breaker in front of the store. The zero value works.
type Breaker struct {
	// Calls is how many calls within Window the breaker needs to decide; 10 when zero.
	Calls int
	// Share is the share of failed calls that opens the breaker, above 0 and up to 1; 0.5 when
	// zero.
	Share float64
	// Window is the time over which calls are counted; 10 s when zero.
	Window time.Duration
	// Open is how long all calls are refused before some are tried again; 30 s when zero.
	Open time.Duration
	// Trials is how many calls are then let through, all of which must succeed; 5 when zero.
	Trials int
}

func (c Config) withDefaults() Config {
	c.HighTTL = cmp.Or(c.HighTTL, 30*time.Second)
	c.LowTTL = cmp.Or(c.LowTTL, time.Minute)
	c.VersionTTL = cmp.Or(c.VersionTTL, 45*time.Minute)
	c.Timeout = cmp.Or(c.Timeout, time.Second)
	c.Breaker.Calls = cmp.Or(c.Breaker.Calls, 10)
	c.Breaker.Share = cmp.Or(c.Breaker.Share, 0.5)
	c.Breaker.Window = cmp.Or(c.Breaker.Window, 10*time.Second)
	c.Breaker.Open = cmp.Or(c.Breaker.Open, 30*time.Second)
	c.Breaker.Trials = cmp.Or(c.Breaker.Trials, 5)
	return c
}

// validate checks a configuration with its defaults.
func (c Config) validate() error {
	for _, f := range []struct {
		name  string
		value time.Duration
		usual string
	}{
		{"HighTTL", c.HighTTL, "30 s"}, {"LowTTL", c.LowTTL, "60 s"}, {"VersionTTL", c.VersionTTL, "45 min"},
		{"Timeout", c.Timeout, "1 s"}, {"Breaker.Window", c.Breaker.Window, "10 s"}, {"Breaker.Open", c.Breaker.Open, "30 s"},
	} {
		if f.value < time.Millisecond {
			return fmt.Errorf("coalesce: Config.%s is %v; use at least a millisecond, or 0 for %s", f.name, f.value, f.usual)
		}
	}
	switch {
	case c.VersionTTL <= max(c.HighTTL, c.LowTTL):
		return fmt.Errorf("coalesce: Config.VersionTTL is %v, not above HighTTL (%v) and LowTTL (%v); a version must outlive its lock",
			c.VersionTTL, c.HighTTL, c.LowTTL)
	case c.Breaker.Calls < 1:
		return fmt.Errorf("coalesce: Config.Breaker.Calls is %d; use at least 1, or 0 for 10", c.Breaker.Calls)
	case !(c.Breaker.Share > 0 && c.Breaker.Share <= 1):
		return fmt.Errorf("coalesce: Config.Breaker.Share is %v; use more than 0 and at most 1, or 0 for 0.5", c.Breaker.Share)
	case c.Breaker.Trials < 1:
		return fmt.Errorf("coalesce: Config.Breaker.Trials is %d; use at least 1, or 0 for 5", c.Breaker.Trials)
	}
	return nil
}

var errNoStore = errors.New("coalesce: the store is nil; make one with rediscoalesce.New or memcoalesce.New")
