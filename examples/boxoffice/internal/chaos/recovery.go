package chaos

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/demo/report"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/demo/screen"
)

// recoveries has the durations of restarts.
func (s *stage) recoveries(out *screen.Screen) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.recovery) == 0 {
		return ""
	}
	sorted := slices.Sorted(slices.Values(s.recovery))
	at := func(q float64) time.Duration { return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)] }
	return fmt.Sprintf("\n%s\n%s", out.Strong("Recovery: from the start of the process until it is ready (milliseconds)"),
		screen.Table([]string{"", "count", "p50", "p95", "max"}, [][]string{{
			"restart", fmt.Sprint(len(sorted)), report.Millis(at(0.5)), report.Millis(at(0.95)), report.Millis(sorted[len(sorted)-1]),
		}}))
}
