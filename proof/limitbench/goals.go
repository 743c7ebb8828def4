package limitbench

import (
	"fmt"

	"github.com/millrace-go/millrace/proof/report"
)

// goals writes the ratios, of figures that were measured in the same round, with
// their goals.
func (f *figures) goals(out *report.Recorder) {
	for _, c := range []struct {
		callers int
		times   float64
	}{{64, 5}, {512, 20}} {
		ours, theirs := line{"granted", c.callers, millrace}, line{"granted", c.callers, redisRate}
		out.Mark(fmt.Sprintf("granted-%d", c.callers), fmt.Sprintf("%g × redis_rate", c.times), c.times*report.Median(f.loads[theirs], func(r result) float64 { return r.Rate }))
		out.AtLeast(fmt.Sprintf("decisions/s, millrace / redis_rate, %d callers", c.callers),
			f.ratio(ours, theirs, func(r result) float64 { return r.Rate }, "decisions/s"), c.times)
		for _, other := range []string{ulule, plain} {
			out.Told(fmt.Sprintf("decisions/s, millrace / %s, %d callers", other, c.callers),
				f.ratio(ours, line{"granted", c.callers, other}, func(r result) float64 { return r.Rate }, "decisions/s"))
		}
		out.AtMost(fmt.Sprintf("Redis CPU per decision, millrace / redis_rate, %d callers", c.callers),
			f.ratio(ours, theirs, func(r result) float64 { return report.Micros(r.Redis) }, "µs"), 0.1)
	}
	out.AtMost("a lone caller's p50, millrace / redis_rate",
		report.Between(f.lone[millrace], f.lone[redisRate], report.Micros, "µs"), 1.1)
	most := 0.0
	for _, r := range f.loads[line{"denied", 512, millrace}] {
		most = max(most, float64(r.Total))
	}
	out.AtMost("Redis calls of a denied flood, in all of a round", report.Value(most, "calls"), 0)
	out.Told("a herd's decisions/s, coalesce / SET NX each",
		report.Between(f.herds[coalescer], f.herds[setNX], func(r result) float64 { return r.Rate }, "decisions/s"))
}

// ratio is the median over the rounds.
func (f *figures) ratio(ours, theirs line, of func(result) float64, unit string) report.Measured {
	return report.Between(f.loads[ours], f.loads[theirs], of, unit)
}
