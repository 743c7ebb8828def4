package budget

import (
	"fmt"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

// Moment is the time of a decision, and the server whose clock it is.
type Moment struct {
	Server string // of the clock; another one makes the state start again
	Now    int64  // µs since 1970
}

const (
	// micro is the millionths of a token.
	micro = 1_000_000
	// ahead is how far the stored time may be ahead of the clock, in µs. A clock that was set
	// back by more would block for that long.
	ahead = 1_000_000
)

// follows reports whether state of the server, last changed then, can be continued.
func (m Moment) follows(server string, then int64) bool {
	return server != "" && server == m.Server && then <= m.Now+ahead
}

// returnable reports whether a grant at the given time, of state that was born then, can be
// given back now. No grant happens at the birth itself.
func returnable(p *driver.Plan, at, born, now int64) bool {
	return at > born && at <= now && now-at <= p.Delay.Microseconds()
}

// Check returns an error if an Ask is invalid.
func Check(p *driver.Plan, ask driver.Ask) error {
	if len(ask.Runs) == 0 {
		return fmt.Errorf("an Ask without Runs; give at least one")
	}
	for i, r := range ask.Runs {
		most := p.LowBurst
		if r.Priority == driver.High {
			most = p.Burst
		}
		switch {
		case r.Priority > driver.High:
			return fmt.Errorf("Runs[%d].Priority is %d; give Low or High", i, r.Priority)
		case r.Size < 1 || r.Size > most:
			return fmt.Errorf("Runs[%d].Size is %d; give 1 to %d, the most that is granted at once", i, r.Size, most)
		case r.Count < 1 || r.Count > MaxCount:
			return fmt.Errorf("Runs[%d].Count is %d; give 1 to %d", i, r.Count, MaxCount)
		}
	}
	return nil
}

// MaxCount is how many calls a run may have, so that counts stay exact in Lua.
const MaxCount = 1_000_000

// CheckReturned is Check for a permit that is given back.
func CheckReturned(r driver.Returned) error {
	if r.Size < 1 {
		return fmt.Errorf("Returned.Size is %d; give what the permit took", r.Size)
	}
	if r.Priority > driver.High {
		return fmt.Errorf("Returned.Priority is %d; give Low or High", r.Priority)
	}
	return nil
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
