package queuebench

import (
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/proof/redisserver"
	"github.com/millrace-go/millrace/proof/report"
	"github.com/millrace-go/millrace/queue/driver"
)

// line is one of the tables.
type line struct{ what, name string }

// halt is the effect of a tick or a sweep on Redis.
type halt struct {
	redisserver.Blocked
	took time.Duration // all of it
}

// figures are the results of all rounds.
type figures struct {
	loads  map[line][]result
	halts  map[line][]halt
	memory map[string]float64 // bytes of Redis for each waiting person
	gate   float64            // bytes of Redis for each person at a front gate
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// table writes the medians.
func (f *figures) table(cfg Config, all []*contender, out *report.Recorder) {
	out.Title("medians of %d rounds of %s; %d people wait; %d callers; each client has %d connections", cfg.Rounds, cfg.Span, cfg.People, callers, cfg.PoolSize)
	fmt.Fprintf(out, "%-20s %-14s %12s %9s %9s %13s %9s %9s %9s\n", "", "", "per second", "p50 µs", "p99 µs", "Redis CPU µs", "CPU µs", "calls", "told")
	for _, what := range loads {
		chart := strings.ReplaceAll(what, " ", "-")
		out.Chart(report.Chart{Name: chart, Title: titles[what], Unit: what[:4] + "s/s", Note: fmt.Sprintf("%d people wait, %d callers", cfg.People, callers)})
		for _, c := range all {
			got := f.loads[line{what, c.name}]
			if len(got) == 0 {
				continue
			}
			redis := report.Median(got, func(r result) float64 { return report.Micros(r.Redis) })
			median := report.Paced(out, report.Figure{Chart: chart, Name: c.name, Role: role(c), EngineCPU: report.Number(redis)}, got, result.Itself)
			fmt.Fprintf(out, "%-20s %-14s %12.0f %9.1f %9.1f %13.3f %9.3f %9.4f %9.2f\n", what, c.name, median.Rate,
				report.Median(got, func(r result) float64 { return report.Micros(r.p50) }),
				report.Median(got, func(r result) float64 { return report.Micros(r.p99) }),
				redis, report.Micros(median.CPU),
				report.Median(got, func(r result) float64 { return r.Calls }),
				report.Median(got, func(r result) float64 { return r.told }))
		}
	}
	fmt.Fprintf(out, "\n%-20s %-14s %16s %16s %16s %16s\n", "", "", "blocked, ms", "at worst, ms", "others wait, ms", "takes, ms")
	out.Chart(report.Chart{Name: "blocked", Title: "For how long Redis serves nobody else", Unit: "ms", Note: "the longest script of each"})
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
			out.Figure(report.Figure{Chart: "blocked", Name: what + ", " + c.name, Role: role(c), Rounds: report.Rounds(got, func(h halt) float64 { return ms(h.AtOnce()) })})
		}
	}
	fmt.Fprintln(out)
}

func halting(cfg Config) []string {
	all := []string{visit(driver.MaxVisits)}
	for _, n := range cfg.Ticks {
		all = append(all, admit(n))
	}
	return append(all, sweep(cfg.Dead))
}

// goals writes the ratios, of figures that were measured in the same round, with
// their goals.
func (f *figures) goals(cfg Config, out *report.Recorder) {
	rate := func(r result) float64 { return r.Rate }
	out.Mark(poll, "10 × the plain scripts", 10*report.Median(f.loads[line{poll, peer}], rate))
	out.Mark(join, "3 × the plain scripts", 3*report.Median(f.loads[line{join, peer}], rate))
	out.Mark("blocked", "at most", 5)
	out.AtLeast("polls/s, millrace / plain scripts", f.ratio(poll, poll, rate, "polls/s"), 10)
	out.AtLeast("share of polls, as signs of life, that Redis was told", report.Value(report.Median(f.loads[line{poll, millrace}], func(r result) float64 { return r.told }), ""), 0.99)
	out.Told("polls/s without ticket, millrace / plain scripts", f.ratio(byName, poll, rate, "polls/s"))
	out.AtLeast("joins/s, millrace / plain scripts", f.ratio(join, join, rate, "joins/s"), 3)
	redis := func(r result) float64 { return report.Micros(r.Redis) }
	out.Told("Redis CPU per poll, millrace / plain scripts", f.ratio(poll, poll, redis, "µs"))
	out.Told("Redis CPU per join, millrace / plain scripts", f.ratio(join, join, redis, "µs"))
	out.AtMost("B of Redis per person, millrace", report.Value(f.memory[millrace], "B"), 160)
	out.Told("B of Redis per person, plain scripts", report.Value(f.memory[peer], "B"))
	out.AtMost("B of Redis per person, millrace's front gate", report.Value(f.gate, "B"), 60)
	for _, what := range halting(cfg) {
		blocked := func(h halt) float64 { return ms(h.AtOnce()) }
		out.AtMost("ms Redis is blocked at once, millrace, "+what, report.Value(report.Median(f.halts[line{what, millrace}], blocked), "ms"), 5)
		if theirs := f.halts[line{what, peer}]; len(theirs) > 0 {
			out.Told("ms Redis is blocked at once, plain scripts, "+what, report.Value(report.Median(theirs, blocked), "ms"))
		}
	}
}

// ratio is the median over the rounds.
func (f *figures) ratio(ours, theirs string, of func(result) float64, unit string) report.Measured {
	return report.Between(f.loads[line{ours, millrace}], f.loads[line{theirs, peer}], of, unit)
}

// titles of the loads' charts.
var titles = map[string]string{poll: "Polls with a ticket", byName: "Polls without a ticket", join: "Joins"}

func role(c *contender) report.Role {
	if c.name == millrace {
		return report.Ours
	}
	return report.Peer
}
