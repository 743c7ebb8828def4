package ssebench

import (
	"fmt"

	"github.com/millrace-go/millrace/proof/report"
)

// figures are the results of all rounds, for each contender.
type figures map[string][]result

// table writes the medians.
func (f figures) table(cfg Config, out *report.Recorder) {
	out.Title("medians of %d rounds of %s; %d streams, events of %d B, bursts of %d", cfg.Rounds, cfg.Span, cfg.Conns, cfg.Size, cfg.Burst)
	fmt.Fprintf(out, "%-18s %12s %12s %12s %12s %12s %12s\n", "", "kB, opened", "kB, idle", "k/s", "CPU µs", "k/s, bursts", "CPU µs")
	out.Chart(report.Chart{Name: "memory", Title: "Memory of an idle stream", Unit: "kB", Note: "of the server's process"})
	out.Chart(report.Chart{Name: "single", Title: "An event to everybody", Unit: "events/s", Note: fmt.Sprintf("that reach %d streams", cfg.Conns)})
	out.Chart(report.Chart{Name: "bursts", Title: fmt.Sprintf("%d events at once to everybody", cfg.Burst), Unit: "events/s", Note: fmt.Sprintf("that reach %d streams", cfg.Conns)})
	for _, c := range contenders {
		got := f[c.name]
		role := report.Peer
		if c.name == lean || c.name == portable {
			role = report.Ours
		}
		out.Figure(report.Figure{Chart: "memory", Name: c.name, Role: role, Rounds: report.Rounds(got, func(r result) float64 { return r.idle / 1e3 })})
		single := report.Paced(out, report.Figure{Chart: "single", Name: c.name, Role: role}, got, func(r result) report.Pace { return r.single })
		burst := report.Paced(out, report.Figure{Chart: "bursts", Name: c.name, Role: role}, got, func(r result) report.Pace { return r.burst })
		fmt.Fprintf(out, "%-18s %12.2f %12.2f %12.0f %12.2f %12.0f %12.2f\n", c.name,
			report.Median(got, func(r result) float64 { return r.fresh / 1e3 }),
			report.Median(got, func(r result) float64 { return r.idle / 1e3 }),
			single.Rate/1e3, report.Micros(single.CPU), burst.Rate/1e3, report.Micros(burst.CPU))
	}
	fmt.Fprintln(out)
}

// goals writes the ratios, of figures that were measured in the same round, with
// their goals.
func (f figures) goals(cfg Config, out *report.Recorder) {
	idle := func(name string) float64 {
		return report.Median(f[name], func(r result) float64 { return r.idle / 1e3 })
	}
	single := func(r result) float64 { return r.single.Rate }
	burst := func(r result) float64 { return r.burst.Rate }
	bursts := fmt.Sprintf("events/s in bursts of %d, ", cfg.Burst)
	out.Mark("memory", "portable, at most", 20)
	out.Mark("memory", "lean, at most", 3)
	out.Mark("single", "portable, 1.3 × bare net/http", 1.3*report.Median(f[bare], single))
	out.Mark("bursts", "portable, 1.3 × bare net/http", 1.3*report.Median(f[bare], burst))
	out.Mark("bursts", "lean, 3 × bare net/http", 3*report.Median(f[bare], burst))
	out.AtMost("kB of an idle stream, portable", report.Value(idle(portable), "kB"), 20)
	out.Told("kB of an idle stream, portable, beyond bare net/http", report.Value(idle(portable)-idle(bare), "kB"))
	out.AtMost("kB of an idle stream, lean", report.Value(idle(lean), "kB"), 3)
	out.AtLeast("events/s, portable / bare", f.ratio(portable, single), 1.3)
	out.AtLeast(bursts+"portable / bare", f.ratio(portable, burst), 1.3)
	out.Told("events/s, lean / bare", f.ratio(lean, single))
	out.AtLeast(bursts+"lean / bare", f.ratio(lean, burst), 3)
}

// ratio to the bare handler is the median over the rounds.
func (f figures) ratio(name string, of func(result) float64) report.Measured {
	return report.Between(f[name], f[bare], of, "events/s")
}
