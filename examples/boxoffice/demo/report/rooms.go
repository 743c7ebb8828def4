package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/percentile"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
)

// Rooms is how the fans got into the shows.
func Rooms(s *screen.Screen, r crowd.Rooms) string {
	var waits []time.Duration
	var first, last time.Time
	for _, p := range r.Passages {
		if p.Waited() {
			waits = append(waits, p.Entered.Sub(p.Asked))
		}
		if first.IsZero() || p.Asked.Before(first) {
			first = p.Asked
		}
		if p.Entered.After(last) {
			last = p.Entered
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n  ", s.Strong("The waiting rooms"))
	if len(waits) == 0 {
		fmt.Fprintf(&b, "%s let in at once; nobody stood in line\n", screen.Thousands(len(r.Passages)))
		return b.String()
	}
	text := fmt.Sprintf("%s of %s stood in line before they were let in; the longest line had %s people; waits: median %.1f s, longest %.1f s; %.1f let in per second",
		screen.Thousands(len(waits)), screen.Thousands(len(r.Passages)), screen.Thousands(r.Longest), percentile.Of(waits, 0.5).Seconds(), percentile.Of(waits, 1).Seconds(),
		float64(len(r.Passages))/max(last.Sub(first).Seconds(), 0.001))
	b.WriteString(screen.Wrap(text, s.Width()-2, 2) + "\n")
	return b.String()
}
