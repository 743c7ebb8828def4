package driver

import (
	"context"
	"fmt"
	"time"
)

// Limit of a key.
type Limit struct {
	// Every is the interval between calls in the long run, of 1 µs to 24 h.
	Every time.Duration
	// Burst is how many calls a rested key may make at once, of 1 to 1,000,000. Burst
	// times Every is at most 31 days.
	Burst int
}

// Bounds of a limit, within which the arithmetic of the stores is exact.
const (
	maxEvery = 24 * time.Hour
	maxBurst = 1_000_000
	// MaxSpan bounds Burst times Every.
	MaxSpan = 31 * 24 * time.Hour
)

// Validate names the field that is wrong, and the fix.
func (l Limit) Validate() error {
	switch {
	case l.Every < time.Microsecond || l.Every > maxEvery:
		return fmt.Errorf("keyed: Limit.Every is %s; give 1 µs to 24 h", l.Every)
	case l.Burst < 1 || l.Burst > maxBurst:
		return fmt.Errorf("keyed: Limit.Burst is %d; give 1 to %d", l.Burst, maxBurst)
	case time.Duration(l.Burst) > MaxSpan/l.Every:
		return fmt.Errorf("keyed: Limit.Burst %d times Every %s is above %s; lower one of them", l.Burst, l.Every, MaxSpan)
	}
	return nil
}

// Ask is one call of a key.
type Ask struct {
	Key string // up to 200 bytes
	Limit
}

// MaxAsks is how many calls a [Store] is asked for at once.
const MaxAsks = 100

// Store keeps the states of keys that processes share. Take decides up to MaxAsks calls
// in their order, by the store's clock, and returns the wait of each: 0 where the call
// was taken. A key without a state has its whole burst.
type Store interface {
	Take(ctx context.Context, asks []Ask) ([]time.Duration, error)
}
