package redisratelimit

import (
	_ "embed"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/ratelimit"
)

var (
	//go:embed lua/moment.lua
	momentText string
	//go:embed lua/day.lua
	dayText string
	//go:embed lua/acquire.lua
	acquireText string
	//go:embed lua/return.lua
	returnText string
	//go:embed lua/acquire_window.lua
	acquireWindowText string
	//go:embed lua/return_window.lua
	returnWindowText string
)

// scripts of one mode.
type scripts struct{ acquire, giveBack *redis.Script }

func bucketScripts() scripts {
	return scripts{redis.NewScript(whole(acquireText)), redis.NewScript(whole(returnText))}
}

func windowScripts() scripts {
	return scripts{redis.NewScript(whole(acquireWindowText)), redis.NewScript(whole(returnWindowText))}
}

// whole puts before a script what all have in common. Functions of Redis would have
// to be loaded on every node before, and again when they are lost.
func whole(text string) string { return momentText + dayText + text }

// keep is how long Redis keeps state that nobody uses. A day must be over by then;
// buckets would be empty after it, and a window block.
const keep = 48 * time.Hour

// planArgs are the arguments that all scripts begin with. The sixth is the yield,
// or the delay where a permit comes back.
func planArgs(p *ratelimit.Plan, sixth time.Duration, seen ratelimit.DayCount, room int) []any {
	return append(make([]any, 0, 12+room),
		p.Rate, p.LowRate, p.Burst, p.LowBurst, p.Window.Microseconds(), sixth.Microseconds(),
		p.Day.Limit, p.Day.HighReserve, p.Day.Offset.Microseconds(), seen.Day, seen.Used, keep.Milliseconds())
}

// kinds of runs, as the scripts tell them apart.
const (
	kindLow         = 0
	kindHigh        = 1
	kindHighWaiting = 2
)

func kindOf(p ratelimit.Priority, waits bool) int {
	switch {
	case p != ratelimit.High:
		return kindLow
	case waits:
		return kindHighWaiting
	}
	return kindHigh
}

func acquireArgs(p *ratelimit.Plan, ask ratelimit.Ask) []any {
	args := planArgs(p, p.Yield, ask.Day, 3*len(ask.Runs))
	for _, r := range ask.Runs {
		args = append(args, kindOf(r.Priority, r.Wait), r.Size, r.Count)
	}
	return args
}

func returnArgs(p *ratelimit.Plan, r ratelimit.Returned) []any {
	return append(planArgs(p, p.Delay, r.Day, 3), kindOf(r.Priority, false), r.Size, r.At)
}

// reasons as the scripts number them.
var reasons = [...]ratelimit.Reason{"", ratelimit.ReasonDay, ratelimit.ReasonGlobal, ratelimit.ReasonLowCap, ratelimit.ReasonYield}

// grantOf reads the answer of an acquire script; false when it is none.
func grantOf(answer []int64, runs int) (ratelimit.Grant, bool) {
	const head, each = 5, 3
	if len(answer) != head+each*runs {
		return ratelimit.Grant{}, false
	}
	g := ratelimit.Grant{
		Runs:      make([]ratelimit.RunGrant, runs),
		At:        answer[0],
		Remaining: [2]int{int(answer[1]), int(answer[2])},
		Day:       ratelimit.DayCount{Day: answer[3], Used: answer[4]},
	}
	for i := range g.Runs {
		a := answer[head+each*i:]
		if a[1] < 0 || a[1] >= int64(len(reasons)) {
			return ratelimit.Grant{}, false
		}
		g.Runs[i] = ratelimit.RunGrant{Granted: int(a[0]), Reason: reasons[a[1]], RetryAfter: time.Duration(a[2]) * time.Microsecond}
	}
	return g, true
}
