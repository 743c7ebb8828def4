package limitbench

import (
	"fmt"
	"io"
	"time"

	"github.com/millrace-go/millrace/bench/report"
)

// goals writes the ratios, of figures that were measured in the same round, and
// what they should be.
func (f *figures) goals(out io.Writer) {
	for _, c := range []struct {
		callers int
		times   float64
	}{{64, 5}, {512, 20}} {
		ours, theirs := line{"granted", c.callers, millrace}, line{"granted", c.callers, redisRate}
		report.AtLeast(out, fmt.Sprintf("decisions/s, millrace / redis_rate, %d callers", c.callers),
			f.ratio(ours, theirs, func(r result) float64 { return r.rate }), c.times)
		for _, other := range []string{ulule, plain} {
			report.Figure(out, fmt.Sprintf("decisions/s, millrace / %s, %d callers", other, c.callers),
				f.ratio(ours, line{"granted", c.callers, other}, func(r result) float64 { return r.rate }))
		}
		atMost(out, fmt.Sprintf("Redis CPU per decision, millrace / redis_rate, %d callers", c.callers),
			f.ratio(ours, theirs, func(r result) float64 { return float64(r.redis) }), 0.1)
	}
	atMost(out, "a lone caller's p50, millrace / redis_rate",
		between(f.lone[millrace], f.lone[redisRate], func(d time.Duration) float64 { return float64(d) }), 1.1)
	most := 0.0
	for _, r := range f.loads[line{"denied", 512, millrace}] {
		most = max(most, float64(r.total))
	}
	atMost(out, "Redis calls of a denied flood, in all of a round", most, 0)
	report.Figure(out, "a herd's decisions/s, coalesce / SET NX each",
		between(f.herds[coalescer], f.herds[setNX], func(r result) float64 { return r.rate }))
}

// atMost writes a figure that must not be larger.
func atMost(out io.Writer, what string, got, goal float64) {
	report.Goal(out, what, got, fmt.Sprintf("<= %g", goal), got <= goal)
}

// ratio is the median over the rounds.
func (f *figures) ratio(ours, theirs line, of func(result) float64) float64 {
	return between(f.loads[ours], f.loads[theirs], of)
}

// between is the median ratio of one figure within each round.
func between[T any](ours, theirs []T, of func(T) float64) float64 {
	ratios := make([]float64, min(len(ours), len(theirs)))
	for i := range ratios {
		ratios[i] = of(ours[i]) / of(theirs[i])
	}
	return report.Median(ratios, func(r float64) float64 { return r })
}
