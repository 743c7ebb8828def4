package ssebench

import (
	"fmt"
	"io"

	"github.com/millrace-go/millrace/bench/report"
)

// figures are what all rounds brought, for each contender.
type figures map[string][]result

// table writes the medians.
func (f figures) table(cfg Config, out io.Writer) {
	report.Title(out, "medians of %d rounds of %s; %d streams, events of %d B, bursts of %d", cfg.Rounds, cfg.Span, cfg.Conns, cfg.Size, cfg.Burst)
	fmt.Fprintf(out, "%-18s %12s %12s %12s %12s %12s %12s\n", "", "kB, opened", "kB, idle", "k/s", "CPU µs", "k/s, bursts", "CPU µs")
	for _, c := range contenders {
		got := f[c.name]
		fmt.Fprintf(out, "%-18s %12.2f %12.2f %12.0f %12.2f %12.0f %12.2f\n", c.name,
			report.Median(got, func(r result) float64 { return r.fresh / 1e3 }),
			report.Median(got, func(r result) float64 { return r.idle / 1e3 }),
			report.Median(got, func(r result) float64 { return r.single.rate / 1e3 }),
			report.Median(got, func(r result) float64 { return report.Micros(r.single.cpu) }),
			report.Median(got, func(r result) float64 { return r.burst.rate / 1e3 }),
			report.Median(got, func(r result) float64 { return report.Micros(r.burst.cpu) }))
	}
	fmt.Fprintln(out)
}

// goals writes the ratios, of figures that were measured in the same round, and
// what they should be.
func (f figures) goals(cfg Config, out io.Writer) {
	idle := func(name string) float64 {
		return report.Median(f[name], func(r result) float64 { return r.idle / 1e3 })
	}
	single := func(r result) float64 { return r.single.rate }
	burst := func(r result) float64 { return r.burst.rate }
	bursts := fmt.Sprintf("events/s in bursts of %d, ", cfg.Burst)
	atMost(out, "kB of an idle stream, portable", idle(portable), 20)
	report.Figure(out, "kB of an idle stream, portable, beyond bare net/http", idle(portable)-idle(bare))
	atMost(out, "kB of an idle stream, lean", idle(lean), 3)
	report.AtLeast(out, "events/s, portable / bare", f.ratio(portable, single), 1.3)
	report.AtLeast(out, bursts+"portable / bare", f.ratio(portable, burst), 1.3)
	report.Figure(out, "events/s, lean / bare", f.ratio(lean, single))
	report.AtLeast(out, bursts+"lean / bare", f.ratio(lean, burst), 3)
}

// atMost writes a figure that must not be larger.
func atMost(out io.Writer, what string, got, goal float64) {
	report.Goal(out, what, got, fmt.Sprintf("<= %g", goal), got <= goal)
}

// ratio to the bare handler is the median over the rounds.
func (f figures) ratio(name string, of func(result) float64) float64 {
	ratios := make([]float64, min(len(f[name]), len(f[bare])))
	for i := range ratios {
		ratios[i] = of(f[name][i]) / of(f[bare][i])
	}
	return report.Median(ratios, func(r float64) float64 { return r })
}
