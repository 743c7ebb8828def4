package mirrorrun

import (
	"fmt"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/demo/screen"
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

// report shows everything and reports whether all requirements hold.
func (r *result) report(out *screen.Screen) (sound bool) {
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
	sound = true
	for _, c := range r.checks() {
		mark := out.Good("ok    ")
		switch {
		case !c.ok && c.goal:
			mark = "MISSED"
		case !c.ok:
			mark, sound = out.Bad("BROKEN"), false
		}
		out.Print("  %s  %s: %s\n", mark, c.name, c.detail)
	}
	return sound
}

func (r *result) row(name string, reads *readers) []string {
	return []string{name, fmt.Sprint(len(reads.took)), ms(quantile(reads.took, .5)), ms(quantile(reads.took, .95)), fmt.Sprint(reads.failed)}
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

// check is a requirement, or a goal that depends on the machine.
type check struct {
	name, detail string
	ok, goal     bool
}

func (r *result) checks() []check {
	served := func(class string) int64 { return r.served.Classes[class].Calls - r.before.Classes[class].Calls }
	all := []check{
		{name: "windows above 500 at the upstream", ok: r.after.Violations == 0 && r.after.Bans == 0,
			detail: fmt.Sprintf("%d; the fullest second had %d calls", r.after.Violations, r.after.Worst.Calls)},
		{name: "high and low were both served", ok: served("high") > 0 && served("low") > 0,
			detail: fmt.Sprintf("%d and %d calls", served("high"), served("low"))},
		{name: "every artist that was followed turned fresh", ok: r.load.never == 0 && len(r.load.turned) > 0,
			detail: fmt.Sprintf("%d did, %d did not within %v", len(r.load.turned), r.load.never, turnsWithin)},
		{name: "high, from the read until fresh", ok: quantile(r.load.turned, .95) < freshWithin, goal: true,
			detail: fmt.Sprintf("p50 %s, p95 %s, goal %v", ms(quantile(r.load.turned, .5)), ms(quantile(r.load.turned, .95)), freshWithin)},
	}
	failed, first := r.load.failed, r.load.failure
	for _, p := range r.phases {
		if p.reads == nil {
			continue
		}
		if failed += p.reads.failed; first == nil {
			first = p.reads.failure
		}
		all = append(all, check{name: "reads, " + p.name, ok: quantile(p.reads.took, .95) < readWithin, goal: true,
			detail: fmt.Sprintf("p95 %s, goal %v", ms(quantile(p.reads.took, .95)), readWithin)})
		if p.name == "Redis away" {
			all = append(all, check{name: "while Redis is away nobody is told how long it takes", ok: p.reads.estimates == 0,
				detail: fmt.Sprintf("%d of %d answers had an estimate", p.reads.estimates, len(p.reads.took))})
		}
	}
	detail := fmt.Sprint(failed, " failed")
	if first != nil {
		detail += ", the first with: " + first.Error()
	}
	return append(all, check{name: "every read was answered", ok: failed == 0, detail: detail})
}
