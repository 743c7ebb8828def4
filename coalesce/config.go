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
	// The circuit breaker refuses calls at once while the store is unavailable. It needs
	// BreakerCalls calls within BreakerWindow to decide, 10 and 10 s when zero, and opens when
	// the share BreakerRatio of them has failed, above 0 and up to 1; 0.5 when zero.
	BreakerCalls  int
	BreakerWindow time.Duration
	BreakerRatio  float64
	// BreakerOpenFor is how long all calls are refused before some are tried again; 30 s when
	// zero.
	BreakerOpenFor time.Duration
	// BreakerTrials is how many calls are then let through, all of which must succeed; 5 when
	// zero.
	BreakerTrials int
	// The functions below are called synchronously, possibly several at once; they must be
	// quick and must not panic. Each may be nil.

	// OnDecided is called with the answer to each request.
	OnDecided func(d Decision)
	// OnConflict is called when a ticket was to be released, ended or extended and did not hold
	// its lock any more: the lock had expired, was upgraded, or had been ended before.
	OnConflict func(t Ticket)
	// OnRefused is called for each call that failed because the store is unavailable.
	OnRefused func(key string, err error)
	// OnBreaker is called when the circuit breaker changes its state: "closed", "half-open" or
	// "open". It must not call the coalescer.
	OnBreaker func(from, to string)
}

func (c Config) withDefaults() Config {
	c.HighTTL = cmp.Or(c.HighTTL, 30*time.Second)
	c.LowTTL = cmp.Or(c.LowTTL, time.Minute)
	c.VersionTTL = cmp.Or(c.VersionTTL, 45*time.Minute)
	c.Timeout = cmp.Or(c.Timeout, time.Second)
	c.BreakerCalls = cmp.Or(c.BreakerCalls, 10)
	c.BreakerRatio = cmp.Or(c.BreakerRatio, 0.5)
	c.BreakerWindow = cmp.Or(c.BreakerWindow, 10*time.Second)
	c.BreakerOpenFor = cmp.Or(c.BreakerOpenFor, 30*time.Second)
	c.BreakerTrials = cmp.Or(c.BreakerTrials, 5)
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
		{"Timeout", c.Timeout, "1 s"}, {"BreakerWindow", c.BreakerWindow, "10 s"}, {"BreakerOpenFor", c.BreakerOpenFor, "30 s"},
	} {
		if f.value < time.Millisecond {
			return fmt.Errorf("coalesce: Config.%s is %v; use at least a millisecond, or 0 for %s", f.name, f.value, f.usual)
		}
	}
	switch {
	case c.VersionTTL <= max(c.HighTTL, c.LowTTL):
		return fmt.Errorf("coalesce: Config.VersionTTL is %v, not above HighTTL (%v) and LowTTL (%v); a version must outlive its lock",
			c.VersionTTL, c.HighTTL, c.LowTTL)
	case c.BreakerCalls < 1:
		return fmt.Errorf("coalesce: Config.BreakerCalls is %d; use at least 1, or 0 for 10", c.BreakerCalls)
	case !(c.BreakerRatio > 0 && c.BreakerRatio <= 1):
		return fmt.Errorf("coalesce: Config.BreakerRatio is %v; use more than 0 and at most 1, or 0 for 0.5", c.BreakerRatio)
	case c.BreakerTrials < 1:
		return fmt.Errorf("coalesce: Config.BreakerTrials is %d; use at least 1, or 0 for 5", c.BreakerTrials)
	}
	return nil
}

var errNoStore = errors.New("coalesce: the store is nil; make one with rediscoalesce.New or memcoalesce.New")
