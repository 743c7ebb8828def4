package upstream

import (
	"cmp"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/upstream/boottime"
)

// Artists is how many artists there are: "1" to "10000".
const Artists = 10_000

// The bounds of [Config.BodyBytes].
const (
	minBody = 2_000
	maxBody = 16_000_000
)

// Config of an [Upstream]. The zero value works.
type Config struct {
	// BodyBytes is the exact size of every artist. Default 300,000; load tests
	// take 3,000. Memory: about eight times as much for prebuilt parts.
	BodyBytes int
	// Limit is how many calls a window of one second may hold. Default 500.
	Limit int
	// BanFor is how long everything is refused after a violation. Default 10 s.
	BanFor time.Duration
	// DailyBudget is how many calls a day (UTC) may hold. Default 20,000,000.
	DailyBudget int64
	// Latency passes before every artist is answered, and up to Jitter more,
	// drawn evenly. Default 0.
	Latency, Jitter time.Duration
	// ReviseEvery changes every artist once in this time, each at a moment of its own;
	// at least 1 s. Default 0: only on request.
	ReviseEvery time.Duration
	// LogCalls is how many of the newest calls the log keeps. Default
	// 2,000,000; a call takes 24 bytes, and memory grows with use.
	LogCalls int
	// Clock is the time of arrivals. Default [boottime.Now], the clock that callers use
	// for [HeaderSentAt].
	Clock func() time.Duration
}

func (c Config) validate() error {
	switch {
	case c.BodyBytes != 0 && (c.BodyBytes < minBody || c.BodyBytes > maxBody):
		return fmt.Errorf("upstream: BodyBytes %d is out of range: use %d to %d, or 0 for 300000", c.BodyBytes, minBody, maxBody)
	case c.Limit < 0:
		return fmt.Errorf("upstream: Limit %d is negative: use 1 or more calls a second, or 0 for 500", c.Limit)
	case c.BanFor < 0:
		return fmt.Errorf("upstream: BanFor %v is negative: use 0 for the default of 10s", c.BanFor)
	case c.DailyBudget < 0:
		return fmt.Errorf("upstream: DailyBudget %d is negative: use 0 for the default of 20000000", c.DailyBudget)
	case c.Latency < 0:
		return fmt.Errorf("upstream: Latency %v is negative: use 0 or more", c.Latency)
	case c.Jitter < 0:
		return fmt.Errorf("upstream: Jitter %v is negative: use 0 or more", c.Jitter)
	case c.ReviseEvery != 0 && c.ReviseEvery < time.Second:
		return fmt.Errorf("upstream: ReviseEvery %v is too short: use 1s or more, or 0 to change artists only when told to", c.ReviseEvery)
	case c.LogCalls < 0:
		return fmt.Errorf("upstream: LogCalls %d is negative: use 0 for the default of 2000000", c.LogCalls)
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.BodyBytes = cmp.Or(c.BodyBytes, 300_000)
	c.Limit = cmp.Or(c.Limit, 500)
	c.BanFor = cmp.Or(c.BanFor, 10*time.Second)
	c.DailyBudget = cmp.Or(c.DailyBudget, 20_000_000)
	c.LogCalls = cmp.Or(c.LogCalls, 2_000_000)
	if c.Clock == nil {
		c.Clock = boottime.Now
	}
	return c
}
