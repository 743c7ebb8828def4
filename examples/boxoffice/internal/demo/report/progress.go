package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/demo/audit"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/demo/screen"
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
			screen.Bar(float64(p.Done)/float64(p.Fans), min(max(width-40, 10), 50)), thousands(p.Done), thousands(p.Fans), p.Active))
	} else {
		lines = append(lines, fmt.Sprintf("%s fans done, %d inside", thousands(p.Done), p.Active))
	}
	add := func(name, text string) {
		text = screen.Wrap(text, width-1-label, label)
		lines = append(lines, strings.Split(fmt.Sprintf("%-*s%s", label, name, text), "\n")...)
	}
	add("fans", ends(p))
	add("requests", fmt.Sprintf("%s answered, %.0f/s, %d lost, %d busy; %d seat conflicts, %d repeated payments",
		thousands(p.Requests), rate, p.Lost, p.Busy, p.Conflicts, p.PaidTwice))
	add("community", talk(p))
	add("events", events(ops))
	if p.Violations > 0 {
		add("WRONG", fmt.Sprintf("fans met %d answers that must not be", p.Violations))
	}
	return lines
}

// Line is the same for a pipe or a file.
func Line(elapsed time.Duration, p crowd.Progress, rate float64, ops audit.Ops) string {
	done := thousands(p.Done)
	if p.Fans > 0 {
		done += " of " + thousands(p.Fans)
	}
	line := fmt.Sprintf("%4.0fs  %s fans done, %d inside: %s | %s | %.0f requests/s | %s", elapsed.Seconds(), done, p.Active, ends(p), talk(p), rate, events(ops))
	if p.Violations > 0 {
		line += fmt.Sprintf(" | WRONG: %d", p.Violations)
	}
	return line
}

// talk has the numbers of the fans' comments, messages and live notices.
func talk(p crowd.Progress) string {
	text := fmt.Sprintf("%s comments, %s chat messages, %s live notices", thousands(p.Comments), thousands(p.Messages), thousands(p.Notices))
	if p.Reopened > 0 {
		text += fmt.Sprintf(", %s streams came back", thousands(p.Reopened))
	}
	return text
}

func ends(p crowd.Progress) string {
	var parts []string
	for _, end := range crowd.Ends() {
		if n := p.Ends[end]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", thousands(n), end))
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
		thousands64(ops.Outbox.Published), ops.Outbox.Backlog, thousands64(handled), lag, inFlight, duplicates, retried, dead)
}

func thousands(n int) string { return thousands64(int64(n)) }

// thousands64 groups digits: 12,345.
func thousands64(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
