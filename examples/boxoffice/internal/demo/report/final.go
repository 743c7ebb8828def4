package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/demo/audit"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/demo/screen"
)

// Crowd has the results of the fans, and the durations of their steps.
func Crowd(s *screen.Screen, p crowd.Progress, steps []crowd.Step, elapsed time.Duration) string {
	var b strings.Builder
	seconds := max(elapsed.Seconds(), 0.001)
	fmt.Fprintf(&b, "\n%s\n  %s fans in %.1f s (%.1f/s); %s requests answered (%.0f/s), %d lost, %d busy\n",
		s.Strong("The crowd"), thousands(p.Done), elapsed.Seconds(), float64(p.Done)/seconds,
		thousands(p.Requests), float64(p.Requests)/seconds, p.Lost, p.Busy)
	fmt.Fprintf(&b, "  %s\n  %d seat conflicts, %d repeated payments\n  %s\n", screen.Wrap(ends(p), s.Width()-2, 2), p.Conflicts, p.PaidTwice,
		screen.Wrap(talk(p), s.Width()-2, 2))
	rows := make([][]string, 0, len(steps))
	for _, step := range steps {
		rows = append(rows, []string{
			step.Name, thousands(step.Count()), fmt.Sprintf("%.1f", float64(step.Count())/seconds),
			Millis(step.Quantile(0.5)), Millis(step.Quantile(0.95)), Millis(step.Quantile(0.99)), Millis(step.Max()),
		})
	}
	fmt.Fprintf(&b, "\n%s\n", s.Strong("Steps (milliseconds)"))
	b.WriteString(screen.Table([]string{"step", "count", "per s", "p50", "p95", "p99", "max"}, rows))
	return b.String()
}

// Audit is every check with its verdict.
func Audit(s *screen.Screen, r audit.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n%s", s.Strong("Invariants, as the box office reports them"), checks(s, r.Own))
	fmt.Fprintf(&b, "\n%s\n%s", s.Strong("The view from outside: what fans were told, and the gateway's ledger"), checks(s, r.Outside))
	return b.String()
}

// Trail is the trace of one visit, drawn as a tree.
func Trail(s *screen.Screen, tree string) string {
	if tree == "" {
		return ""
	}
	return fmt.Sprintf("\n%s\n  %s\n", s.Strong("The trace of one visit: a member follows another, who is told so on her live stream"),
		strings.ReplaceAll(strings.TrimRight(tree, "\n"), "\n", "\n  "))
}

// Verdict is the last line of a run.
func Verdict(s *screen.Screen, r audit.Result) string {
	broken := 0
	for _, c := range append(append([]audit.Check{}, r.Own...), r.Outside...) {
		if !c.OK {
			broken++
		}
	}
	switch {
	case len(r.Own) == 0:
		return s.Bad("BROKEN") + ": the box office reports no invariants\n"
	case broken > 0:
		return fmt.Sprintf("%s: %d of %d checks do not hold\n", s.Bad("BROKEN"), broken, len(r.Own)+len(r.Outside))
	}
	return fmt.Sprintf("%s: all %d checks hold\n", s.Good("OK"), len(r.Own)+len(r.Outside))
}

func checks(s *screen.Screen, list []audit.Check) string {
	if len(list) == 0 {
		return "  " + s.Bad("none") + "\n"
	}
	name := 0
	for _, c := range list {
		name = max(name, len([]rune(c.Name)))
	}
	var b strings.Builder
	for _, c := range list {
		verdict := s.Good("ok    ")
		if !c.OK {
			verdict = s.Bad("BROKEN")
		}
		indent := 2 + 6 + 2 + name + 2
		if width := s.Width(); width > 0 && width < indent+30 {
			indent = 10 // a narrow terminal: details below the name
			fmt.Fprintf(&b, "  %s  %s\n%s%s\n", verdict, c.Name, strings.Repeat(" ", indent), screen.Wrap(c.Detail, width-indent, indent))
			continue
		}
		line := fmt.Sprintf("  %s  %-*s  %s", verdict, name, c.Name, screen.Wrap(c.Detail, s.Width()-indent, indent))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// Millis formats a duration as milliseconds with one digit.
func Millis(d time.Duration) string {
	return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond))
}
