package gatebench

import (
	"fmt"
	"time"

	"github.com/millrace-go/millrace/proof/report"
)

// most is by how much the gate's p99 may be above that of nginx, in ms.
const most = 0.3

// record keeps the results, and says which goals are met.
func (c Config) record(all map[string][]result, out *report.Recorder) {
	out.Title("medians of %d rounds; open loop of %d requests a second on %d connections for %s, then flat out as long; answers of %d bytes", c.Rounds, c.Rate, c.Conns, c.Span, page)
	out.Chart(report.Chart{Name: "latency", Title: fmt.Sprintf("p99 at %d requests a second", c.Rate), Unit: "ms", Note: "open loop; the processor time is that of the proxy for each request"})
	out.Chart(report.Chart{Name: "flat", Title: "Flat out", Unit: "requests/s", Note: "origin and load generator share the machine; the processor time is that of the proxy for each request"})
	fmt.Fprintf(out, "%-18s %10s %10s %12s %14s %12s\n", "", "p50 ms", "p99 ms", "CPU µs each", "requests/s", "CPU µs each")
	for _, name := range contenders {
		got := all[name]
		openCPU, flatCPU := report.Median(got, func(r result) float64 { return report.Micros(r.openCPU) }), report.Median(got, func(r result) float64 { return report.Micros(r.flatCPU) })
		fmt.Fprintf(out, "%-18s %10.3f %10.3f %12.1f %14.0f %12.1f\n", name, report.Median(got, result.middle), report.Median(got, result.late), openCPU, report.Median(got, result.requests), flatCPU)
		role := map[string]report.Role{gated: report.Ours, direct: report.Limit, nginx: report.Peer, caddy: report.Peer, bare: report.Peer}[name]
		out.Figure(report.Figure{Chart: "latency", Name: name, Role: role, CPU: report.Number(openCPU), Rounds: report.Rounds(got, result.late)})
		out.Figure(report.Figure{Chart: "flat", Name: name, Role: role, CPU: report.Number(flatCPU), Rounds: report.Rounds(got, result.requests)})
	}
	fmt.Fprintln(out)
	out.Mark("latency", fmt.Sprintf("nginx and %g ms", most), report.Median(all[nginx], result.late)+most)
	out.AtMost("p99 at the rate, millrace gate less nginx", report.Value(less(all[gated], all[nginx], result.late), "ms"), most)
	out.Told("p99 at the rate, millrace gate less Caddy", report.Value(less(all[gated], all[caddy], result.late), "ms"))
	out.Told("p99 at the rate, millrace gate less Go's proxy", report.Value(less(all[gated], all[bare], result.late), "ms"))
	for _, name := range []string{gated, nginx, caddy, bare} {
		out.Told("added to the p50, "+name, report.Value(less(all[name], all[direct], result.middle), "ms"))
		out.Told("added to the p99, "+name, report.Value(less(all[name], all[direct], result.late), "ms"))
	}
	for _, name := range []string{nginx, caddy, bare} {
		out.Told("flat out, millrace gate / "+name, report.Between(all[gated], all[name], result.requests, "requests/s"))
		out.Told("CPU of a request flat out, millrace gate / "+name, report.Between(all[gated], all[name], func(r result) float64 { return report.Micros(r.flatCPU) }, "µs"))
	}
}

func (r result) middle() float64   { return ms(r.p50) }
func (r result) late() float64     { return ms(r.p99) }
func (r result) requests() float64 { return r.rate }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// less is the median of the differences within each round.
func less(ours, theirs []result, of func(result) float64) float64 {
	differences := make([]float64, min(len(ours), len(theirs)))
	for i := range differences {
		differences[i] = of(ours[i]) - of(theirs[i])
	}
	return report.Median(differences, func(d float64) float64 { return d })
}
