package limitproof

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
)

// row is one try of an act in the table.
type row struct {
	outcome outcome
	verdict verdict
	try     int // from 1
}

// word is the verdict in the table.
func (r row) word() string {
	switch {
	case len(r.verdict.violations) > 0:
		return "BROKEN"
	case r.outcome.act.wants.broken && len(r.verdict.missed) > 0:
		return "NOT NOTICED"
	case len(r.verdict.missed) > 0:
		return "missed"
	case r.verdict.stalled:
		return "simulator late"
	case r.outcome.act.wants.broken:
		return "noticed"
	}
	return "held"
}

func (r row) name() string {
	if r.try > 1 {
		return fmt.Sprintf("%s (try %d)", r.outcome.act.name, r.try)
	}
	return r.outcome.act.name
}

// table lays out the rows.
func table(c config, rows []row) string {
	head := []string{
		"act", "seconds", "calls", "high/s", "low/s", fmt.Sprintf("of %d/s", c.rate), "fullest second", "by sending",
		"low's fullest", "permits expired", "verdict",
	}
	var lines [][]string
	for _, r := range rows {
		f := r.outcome.figures
		lines = append(lines, []string{
			r.name(), fmt.Sprintf("%.0f", r.outcome.measured.seconds()), fmt.Sprint(f.calls),
			fmt.Sprintf("%.1f", f.high), fmt.Sprintf("%.1f", f.low), fmt.Sprintf("%.1f %%", 100*(f.high+f.low)/float64(c.rate)),
			fmt.Sprint(f.arrived), fmt.Sprint(f.sent), fmt.Sprint(f.low1), fmt.Sprint(r.outcome.done.expired()), r.word(),
		})
	}
	return screen.Table(head, lines)
}

// remarks are the facts that the table has no column for, act by act.
func remarks(rows []row, width int) string {
	var b strings.Builder
	for _, r := range rows {
		v := r.verdict
		text := slices.Concat(v.violations, v.missed)
		if v.stalled {
			text = append(text, fmt.Sprintf("%d calls arrived within a second, of which at most %d were sent within one: the simulator or the network held some up, so this try proves nothing",
				r.outcome.figures.arrived, r.outcome.figures.sent))
		}
		text = append(text, v.notes...)
		if len(text) > 0 {
			fmt.Fprintf(&b, "  %s\n", r.name())
		}
		for _, t := range text {
			fmt.Fprintf(&b, "    - %s\n", screen.Wrap(t, width-7, 6))
		}
	}
	return b.String()
}

// preface is the arithmetic, and its basis.
func preface(c config, width int) (string, error) {
	plain, err := c.budget().Plan()
	if err != nil {
		return "", err
	}
	stepped, err := steppedBudget(c).Plan()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d processes share %d calls per second, %d of them for low priority, by Redis. More than %d\nin any second are a violation. Seed %d.\n\n", c.workers, c.rate, c.low, c.hard, c.seed)
	fmt.Fprintf(&b, "  arithmetic   %s\n  with steps   %s\n  low          LowBurst %d + LowRate %d * (t + Delay %s) + Processes %d in any time t\n",
		plain.Arithmetic, stepped.Arithmetic, plain.LowBurst, c.low, plain.Delay, c.workers)
	b.WriteString("\nIt stands on these assumptions:\n")
	for _, a := range []string{
		"each process has one limiter, whose lock makes it late with one call at most when it is stopped",
		fmt.Sprintf("there are at most %d processes, and nobody else calls", c.workers),
		"a call arrives as soon as it is written (Transit 0)",
		"the monotonic clock of a process goes on while it is stopped",
		fmt.Sprintf("Redis' clock steps forward once in a second at most; here every %v", stepEvery),
	} {
		fmt.Fprintf(&b, "  - %s\n", screen.Wrap(a, width-5, 4))
	}
	return b.String(), nil
}

// checks are those that make the proof fail or hold: every violation, and the last try of
// each act.
func checks(rows []row) (all []judge.Check) {
	for i, r := range rows {
		last := i == len(rows)-1 || rows[i+1].outcome.act.key != r.outcome.act.key
		v, check := r.verdict, judge.That
		if len(v.violations) == 0 {
			if !last {
				continue
			}
			check = judge.Control // no limit was broken, and a try that misses its goal proves little
		}
		detail := fmt.Sprintf("%d calls sent in the fullest second", r.outcome.figures.sent)
		if wrong := slices.Concat(v.violations, v.missed); len(wrong) > 0 {
			detail = strings.Join(wrong, "; ")
		} else if v.stalled {
			detail = fmt.Sprintf("%d calls arrived in a second, held up by the simulator or the network", r.outcome.figures.arrived)
		}
		all = append(all, check(r.name(), v.ok(), "%s", detail))
	}
	return all
}

// conclusion is the last line of a proof that held.
func conclusion(c config, rows []row, took time.Duration) string {
	worst := 0
	for _, r := range rows {
		if !r.outcome.act.wants.broken {
			worst = max(worst, r.outcome.figures.sent)
		}
	}
	return fmt.Sprintf("At most %d calls of %d were sent within any second. It took %.0f s.", worst, c.hard, took.Seconds())
}
