package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/audit"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
)

// Rate is requests per second over the last few looks.
type Rate struct {
	at []time.Time
	n  []int
}

// Update adds a look and returns the rate over about the last two seconds.
func (r *Rate) Update(now time.Time, n int) float64 {
	r.at, r.n = append(r.at, now), append(r.n, n)
	for len(r.at) > 2 && now.Sub(r.at[1]) >= 2*time.Second {
		r.at, r.n = r.at[1:], r.n[1:]
	}
	span := now.Sub(r.at[0]).Seconds()
	if span <= 0 {
		return 0
	}
	return float64(n-r.n[0]) / span
}

// label is the width of the first column of a frame.
const label = 10

// Frame is the progress of a crowd for a terminal of that width.
func Frame(p crowd.Progress, rate float64, ops audit.Ops, width int) []string {
	var lines []string
	if p.Fans > 0 {
		lines = append(lines, fmt.Sprintf("%s %s of %s fans done, %d inside",
			screen.Bar(float64(p.Done)/float64(p.Fans), min(max(width-40, 10), 50)), screen.Thousands(p.Done), screen.Thousands(p.Fans), p.Active))
	} else {
		lines = append(lines, fmt.Sprintf("%s fans done, %d inside", screen.Thousands(p.Done), p.Active))
	}
	add := func(name, text string) {
		text = screen.Wrap(text, width-1-label, label)
		lines = append(lines, strings.Split(fmt.Sprintf("%-*s%s", label, name, text), "\n")...)
	}
	add("fans", ends(p))
	add("requests", fmt.Sprintf("%s answered, %.0f/s, %d lost, %d busy; %d seat conflicts, %d repeated payments",
		screen.Thousands(p.Requests), rate, p.Lost, p.Busy, p.Conflicts, p.PaidTwice))
	add("community", talk(p))
	add("events", events(ops))
	if p.Violations > 0 {
		add("WRONG", fmt.Sprintf("fans met %d answers that must not be", p.Violations))
	}
	return lines
}

// Line is the same for a pipe or a file.
func Line(elapsed time.Duration, p crowd.Progress, rate float64, ops audit.Ops) string {
	done := screen.Thousands(p.Done)
	if p.Fans > 0 {
		done += " of " + screen.Thousands(p.Fans)
	}
	line := fmt.Sprintf("%4.0fs  %s fans done, %d inside: %s | %s | %.0f requests/s | %s", elapsed.Seconds(), done, p.Active, ends(p), talk(p), rate, events(ops))
	if p.Violations > 0 {
		line += fmt.Sprintf(" | WRONG: %d", p.Violations)
	}
	return line
}

// talk has the numbers of the fans' comments, messages and live notices.
func talk(p crowd.Progress) string {
	text := fmt.Sprintf("%s comments, %s chat messages, %s live notices", screen.Thousands(p.Comments), screen.Thousands(p.Messages), screen.Thousands(p.Notices))
	if p.Reopened > 0 {
		text += fmt.Sprintf(", %s streams came back", screen.Thousands(p.Reopened))
	}
	return text
}

func ends(p crowd.Progress) string {
	var parts []string
	for _, end := range crowd.Ends() {
		if n := p.Ends[end]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", screen.Thousands(n), end))
		}
	}
	if len(parts) == 0 {
		return "nobody has left yet"
	}
	return strings.Join(parts, ", ")
}

func events(ops audit.Ops) string {
	var inFlight, handled, duplicates, retried, lag, dead int64
	for _, c := range ops.Consumers {
		inFlight, handled, duplicates, retried, lag = inFlight+c.InFlight, handled+c.Handled, duplicates+c.Duplicates, retried+c.Retried, lag+c.Lag
	}
	for _, d := range ops.DeadLetters {
		dead += d.Count
	}
	return fmt.Sprintf("%s published, %d waiting; %s handled, %d waiting, %d in flight; %d duplicates skipped, %d retried, %d dead letters",
		screen.Thousands(ops.Outbox.Published), ops.Outbox.Backlog, screen.Thousands(handled), lag, inFlight, duplicates, retried, dead)
}
