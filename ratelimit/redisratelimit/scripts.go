package redisratelimit

import (
	_ "embed"
	"encoding/binary"
	"math"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

var (
	//go:embed lua/acquire.lua
	acquireText string
	//go:embed lua/return.lua
	returnText string
	//go:embed lua/acquire_window.lua
	acquireWindowText string
	//go:embed lua/return_window.lua
	returnWindowText string
)

// scripts holds the scripts of one mode.
type scripts struct{ acquire, giveBack *redis.Script }

func bucketScripts() scripts {
	return scripts{redis.NewScript(acquireText), redis.NewScript(returnText)}
}

func windowScripts() scripts {
	return scripts{redis.NewScript(acquireWindowText), redis.NewScript(returnWindowText)}
}

// doubles are the packed numbers of a script's arguments and answer. Lua has only doubles, and
// one string of them costs the script less than one argument each.
type doubles []byte

func (d doubles) and(numbers ...int64) doubles {
	for _, n := range numbers {
		d = binary.LittleEndian.AppendUint64(d, math.Float64bits(float64(n)))
	}
	return d
}

const double = 8 // bytes

// numberAt returns the i-th number of an answer.
func numberAt(answer string, i int) int64 {
	return int64(math.Float64frombits(binary.LittleEndian.Uint64([]byte(answer[i*double : (i+1)*double]))))
}

// planArgs returns the arguments of all scripts; see plan.lua. span is the yield, or the delay
// for a permit that is given back.
func planArgs(p *driver.Plan, span time.Duration, seen driver.DayCount, room int) doubles {
	return make(doubles, 0, (13+room)*double).and(
		int64(p.Rate), int64(p.LowRate), int64(p.Burst), int64(p.LowBurst), p.Window.Microseconds(), span.Microseconds(),
		int64(p.LowShare), p.Hold.Microseconds(), p.Day.Limit, p.Day.HighReserve, p.Day.Offset.Microseconds(), seen.Day, seen.Used)
}

// The kinds of runs, as the scripts number them.
const (
	kindLow         = 0
	kindHigh        = 1
	kindHighWaiting = 2
)

func kindOf(p driver.Priority, waits bool) int64 {
	switch {
	case p != driver.High:
		return kindLow
	case waits:
		return kindHighWaiting
	}
	return kindHigh
}

func acquireArgs(p *driver.Plan, ask driver.Ask) doubles {
	args := planArgs(p, p.Yield, ask.Day, 3*len(ask.Runs))
	for _, r := range ask.Runs {
		args = args.and(kindOf(r.Priority, r.Wait), int64(r.Size), int64(r.Count))
	}
	return args
}

func returnArgs(p *driver.Plan, r driver.Returned) doubles {
	return planArgs(p, p.Delay, r.Day, 3).and(kindOf(r.Priority, false), int64(r.Size), r.At)
}

// reasons as the scripts number them.
var reasons = [...]driver.Reason{"", driver.ReasonDay, driver.ReasonGlobal, driver.ReasonLowCap, driver.ReasonYield, driver.ReasonLowShare}

// grantOf parses the answer of an acquire script; false if it is invalid.
func grantOf(answer string, runs int) (driver.Grant, bool) {
	const head, each = 5, 3
	if len(answer) != (head+each*runs)*double {
		return driver.Grant{}, false
	}
	g := driver.Grant{
		Runs:      make([]driver.RunGrant, runs),
		At:        numberAt(answer, 0),
		Remaining: [2]int{int(numberAt(answer, 1)), int(numberAt(answer, 2))},
		Day:       driver.DayCount{Day: numberAt(answer, 3), Used: numberAt(answer, 4)},
	}
	for i := range g.Runs {
		granted, reason, wait := numberAt(answer, head+each*i), numberAt(answer, head+each*i+1), numberAt(answer, head+each*i+2)
		if reason < 0 || reason >= int64(len(reasons)) {
			return driver.Grant{}, false
		}
		g.Runs[i] = driver.RunGrant{Granted: int(granted), Reason: reasons[reason], RetryAfter: time.Duration(wait) * time.Microsecond}
	}
	return g, true
}
