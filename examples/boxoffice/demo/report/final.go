package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/audit"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
)

// Crowd has the results of the fans, and the durations of their steps.
func Crowd(s *screen.Screen, p crowd.Progress, steps []crowd.Step, elapsed time.Duration) string {
	var b strings.Builder
	seconds := max(elapsed.Seconds(), 0.001)
	fmt.Fprintf(&b, "\n%s\n  %s fans in %.1f s (%.1f/s); %s requests answered (%.0f/s), %d lost, %d busy\n",
		s.Strong("The crowd"), screen.Thousands(p.Done), elapsed.Seconds(), float64(p.Done)/seconds,
		screen.Thousands(p.Requests), float64(p.Requests)/seconds, p.Lost, p.Busy)
	fmt.Fprintf(&b, "  %s\n  %d seat conflicts, %d repeated payments\n  %s\n", screen.Wrap(ends(p), s.Width()-2, 2), p.Conflicts, p.PaidTwice,
		screen.Wrap(talk(p), s.Width()-2, 2))
	rows := make([][]string, 0, len(steps))
	for _, step := range steps {
		rows = append(rows, []string{
			step.Name, screen.Thousands(step.Count()), fmt.Sprintf("%.1f", float64(step.Count())/seconds),
			Millis(step.Of(0.5)), Millis(step.Of(0.95)), Millis(step.Of(0.99)), Millis(step.Max()),
		})
	}
	fmt.Fprintf(&b, "\n%s\n", s.Strong("Steps (milliseconds)"))
	b.WriteString(screen.Table([]string{"step", "count", "per s", "p50", "p95", "p99", "max"}, rows))
	return b.String()
}

// Audit is every check with its verdict.
func Audit(s *screen.Screen, r audit.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n%s", s.Strong("Invariants, as the box office reports them"), judge.Table(s, r.Own))
	fmt.Fprintf(&b, "\n%s\n%s", s.Strong("The view from outside: what fans were told, and the gateway's ledger"), judge.Table(s, r.Outside))
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
	if len(r.Own) == 0 {
		return s.Bad("BROKEN") + ": the box office reports no invariants\n"
	}
	return judge.Line(s, r.All())
}

// Millis formats a duration as milliseconds with one digit.
func Millis(d time.Duration) string {
	return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond))
}
