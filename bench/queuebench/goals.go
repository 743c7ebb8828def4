package queuebench

import (
	"fmt"
	"io"
	"time"

	"github.com/millrace-go/millrace/bench/redisserver"
	"github.com/millrace-go/millrace/bench/report"
	"github.com/millrace-go/millrace/queue"
)

// line is one of the tables.
type line struct{ what, name string }

// halt is what a tick or a sweep did to Redis.
type halt struct {
	redisserver.Blocked
	took time.Duration // all of it
}

// figures are what all rounds brought.
type figures struct {
	loads  map[line][]result
	halts  map[line][]halt
	memory map[string]float64 // bytes of Redis for each who waits
	gate   float64            // bytes of Redis for each who waits at a front gate
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// table writes the medians.
func (f *figures) table(cfg Config, all []*contender, out io.Writer) {
	report.Title(out, "medians of %d rounds of %s; %d people wait; %d callers; each client has %d connections", cfg.Rounds, cfg.Span, cfg.People, callers, cfg.PoolSize)
	fmt.Fprintf(out, "%-20s %-14s %12s %9s %9s %13s %9s %9s %9s\n", "", "", "per second", "p50 µs", "p99 µs", "Redis CPU µs", "CPU µs", "calls", "told")
	for _, what := range loads {
		for _, c := range all {
			got := f.loads[line{what, c.name}]
			if len(got) == 0 {
				continue
			}
			fmt.Fprintf(out, "%-20s %-14s %12.0f %9.1f %9.1f %13.3f %9.3f %9.4f %9.2f\n", what, c.name,
				report.Median(got, func(r result) float64 { return r.rate }),
				report.Median(got, func(r result) float64 { return report.Micros(r.p50) }),
				report.Median(got, func(r result) float64 { return report.Micros(r.p99) }),
				report.Median(got, func(r result) float64 { return report.Micros(r.redis) }),
				report.Median(got, func(r result) float64 { return report.Micros(r.process) }),
				report.Median(got, func(r result) float64 { return r.calls }),
				report.Median(got, func(r result) float64 { return r.told }))
		}
	}
	fmt.Fprintf(out, "\n%-20s %-14s %16s %16s %16s %16s\n", "", "", "blocked, ms", "at worst, ms", "others wait, ms", "takes, ms")
	for _, what := range halting(cfg) {
		for _, c := range all {
			got, worst := f.halts[line{what, c.name}], 0.0
			if len(got) == 0 {
				continue
			}
			for _, h := range got {
				worst = max(worst, ms(h.AtOnce()))
			}
			fmt.Fprintf(out, "%-20s %-14s %16.2f %16.2f %16.2f %16.1f\n", what, c.name,
				report.Median(got, func(h halt) float64 { return ms(h.AtOnce()) }), worst,
				report.Median(got, func(h halt) float64 { return ms(h.Waited) }),
				report.Median(got, func(h halt) float64 { return ms(h.took) }))
		}
	}
	fmt.Fprintln(out)
}

func halting(cfg Config) []string {
	all := []string{visit(queue.MaxVisits)}
	for _, n := range cfg.Ticks {
		all = append(all, admit(n))
	}
	return append(all, sweep(cfg.Dead))
}

// goals writes the ratios, of figures that were measured in the same round, and
// what they should be.
func (f *figures) goals(cfg Config, out io.Writer) {
	rate := func(r result) float64 { return r.rate }
	report.AtLeast(out, "polls/s, millrace / plain scripts", f.ratio(poll, poll, rate), 10)
	report.AtLeast(out, "share of polls, as signs of life, that Redis was told", report.Median(f.loads[line{poll, millrace}], func(r result) float64 { return r.told }), 0.99)
	report.Figure(out, "polls/s without ticket, millrace / plain scripts", f.ratio(byName, poll, rate))
	report.AtLeast(out, "joins/s, millrace / plain scripts", f.ratio(join, join, rate), 3)
	redis := func(r result) float64 { return float64(r.redis) }
	report.Figure(out, "Redis CPU per poll, millrace / plain scripts", f.ratio(poll, poll, redis))
	report.Figure(out, "Redis CPU per join, millrace / plain scripts", f.ratio(join, join, redis))
	atMost(out, "B of Redis per person, millrace", f.memory[millrace], 160)
	report.Figure(out, "B of Redis per person, plain scripts", f.memory[peer])
	atMost(out, "B of Redis per person, millrace's front gate", f.gate, 60)
	for _, what := range halting(cfg) {
		blocked := func(h halt) float64 { return ms(h.AtOnce()) }
		atMost(out, "ms Redis is blocked at once, millrace, "+what, report.Median(f.halts[line{what, millrace}], blocked), 5)
		if theirs := f.halts[line{what, peer}]; len(theirs) > 0 {
			report.Figure(out, "ms Redis is blocked at once, plain scripts, "+what, report.Median(theirs, blocked))
		}
	}
}

// atMost writes a figure that must not be larger.
func atMost(out io.Writer, what string, got, goal float64) {
	report.Goal(out, what, got, fmt.Sprintf("<= %g", goal), got <= goal)
}

// ratio is the median over the rounds.
func (f *figures) ratio(ours, theirs string, of func(result) float64) float64 {
	a, b := f.loads[line{ours, millrace}], f.loads[line{theirs, peer}]
	ratios := make([]float64, min(len(a), len(b)))
	for i := range ratios {
		ratios[i] = of(a[i]) / of(b[i])
	}
	return report.Median(ratios, func(r float64) float64 { return r })
}
