package mirrorrun

import (
	"fmt"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/percentile"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
)

const (
	budget = 450.0
	// The goals.
	freshWithin = 3 * time.Second
	readWithin  = 100 * time.Millisecond
)

// calls that the upstream saw under the load, by priority and all together.
func (r *result) calls(class string) int64 {
	if class == "" {
		return r.after.Calls - r.before.Calls
	}
	return r.after.Classes[class].Calls - r.before.Classes[class].Calls
}

func (r *result) rate(class string) float64 {
	if r.elapsed == 0 {
		return 0
	}
	return float64(r.calls(class)) / r.elapsed.Seconds()
}

// report shows everything, and is [judge.ErrBroken] unless all requirements hold.
func (r *result) report(out *screen.Screen) error {
	out.Print("\n%s", screen.Table([]string{"calls of the upstream per second", "high", "low", "together", "of 450"}, [][]string{{
		"arrived", fmt.Sprintf("%.1f", r.rate("high")), fmt.Sprintf("%.1f", r.rate("low")), fmt.Sprintf("%.1f", r.rate("")),
		fmt.Sprintf("%.1f %%", 100*r.rate("")/budget),
	}}))
	out.Print("\n  bound by %s\n\n", r.bound())
	out.Print("%s\n", screen.Table([]string{"where the time goes", ""}, r.costs()))
	rows := [][]string{r.row("under load", r.load)}
	for _, p := range r.phases {
		if p.reads == nil {
			rows = append(rows, []string{p.name, p.why, "", "", ""})
			continue
		}
		rows = append(rows, r.row(p.name, p.reads))
	}
	out.Print("%s\n", screen.Table([]string{"reads", "count", "p50", "p95", "failed"}, rows))
	return judge.Conclude(out, r.checks())
}

func (r *result) row(name string, reads *readers) []string {
	return []string{name, fmt.Sprint(len(reads.took)), ms(percentile.Of(reads.took, .5)), ms(percentile.Of(reads.took, .95)), fmt.Sprint(reads.failed)}
}

// costs are the parts of a refresh's duration.
func (r *result) costs() [][]string {
	f := func(name, labels string) string { return ms(r.office.mean(r.began, name, labels)) }
	results := func(of string) float64 { return r.office.since(r.began, `artist_refresh_total{result="`+of+`"}`) }
	rows := [][]string{
		{"a batch of high: budget, fetch, extract, write; mean", f("update_process_duration_seconds", `{priority="high"}`)},
		{"a batch of low; mean", f("update_process_duration_seconds", `{priority="low"}`)},
		{"a write of a batch; mean", f("db_upsert_duration_seconds", "")},
		{"artists in a write; mean", fmt.Sprintf("%.1f", (results("changed")+results("unchanged"))/max(1, r.office.since(r.began, "db_upsert_duration_seconds_count")))},
		{"calls granted, and given back", fmt.Sprintf("%.0f, %.0f", r.office.since(r.began, `millrace_rate_limiter_acquired_total{priority="high"}`)+
			r.office.since(r.began, `millrace_rate_limiter_acquired_total{priority="low"}`), r.office.since(r.began, "millrace_rate_limiter_returned_total"))},
		{"the upstream, with its latency; p50, p99", fmt.Sprintf("%s, %s", ms(us(r.after.Handler.P50)), ms(us(r.after.Handler.P99)))},
		{"artists changed, unchanged", fmt.Sprintf("%.0f, %.0f", results("changed"), results("unchanged"))},
	}
	if r.cpuKnown {
		rows = append(rows, []string{"processors: upstream, office and readers", fmt.Sprintf("%.2f, %.2f of %d", r.busy(r.cpuUpstream), r.busy(r.cpuOffice), r.cores)})
	}
	return rows
}

func us(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// busy is how many processors were busy.
func (r *result) busy(used time.Duration) float64 { return used.Seconds() / r.elapsed.Seconds() }

// bound names the bottleneck of the rate.
func (r *result) bound() string {
	used := r.busy(r.cpuUpstream + r.cpuOffice)
	switch {
	case r.rate("") >= .98*budget:
		return "the budget"
	case r.cpuKnown && used >= .85*float64(r.cores):
		return fmt.Sprintf("the processors: %.2f of %d are busy with this run, %.2f of them with the upstream", used, r.cores, r.busy(r.cpuUpstream))
	case r.cpuKnown:
		return fmt.Sprintf("time, not processors (%.2f of %d are busy with this run): how long a batch takes, see below, or what else the machine does", used, r.cores)
	}
	return "less than the budget; what the processors did is not known on this system"
}

// ms shows a time in milliseconds.
func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond)) }

func (r *result) checks() []judge.Check {
	served := func(class string) int64 { return r.served.Classes[class].Calls - r.before.Classes[class].Calls }
	turned := percentile.Of(r.load.turned, .95)
	all := []judge.Check{
		judge.That("windows above 500 at the upstream", r.last.Violations == 0 && r.last.Bans == 0,
			"%d; the fullest second had %d calls", r.last.Violations, r.last.Worst.Calls),
		judge.That("high and low were both served", served("high") > 0 && served("low") > 0, "%d and %d calls", served("high"), served("low")),
		judge.That("every artist that was followed turned fresh", r.load.never == 0 && len(r.load.turned) > 0,
			"%d did, %d did not within %v", len(r.load.turned), r.load.never, turnsWithin),
		judge.Goal("high, from the read until fresh", turned < freshWithin, "p50 %s, p95 %s, goal %v", ms(percentile.Of(r.load.turned, .5)), ms(turned), freshWithin),
	}
	failed, first := r.load.failed, r.load.failure
	for _, p := range r.phases {
		if p.reads == nil {
			continue
		}
		if failed += p.reads.failed; first == nil {
			first = p.reads.failure
		}
		took := percentile.Of(p.reads.took, .95)
		all = append(all, judge.Goal("reads, "+p.name, took < readWithin, "p95 %s, goal %v", ms(took), readWithin))
		if p.name == "Redis away" {
			all = append(all, judge.That("while Redis is away nobody is told how long it takes", p.reads.estimates == 0,
				"%d of %d answers had an estimate", p.reads.estimates, len(p.reads.took)))
		}
	}
	detail := fmt.Sprint(failed, " failed")
	if first != nil {
		detail += ", the first with: " + first.Error()
	}
	return append(all, judge.That("every read was answered", failed == 0, "%s", detail))
}
