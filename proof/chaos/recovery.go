package chaos

import (
	"fmt"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/percentile"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/report"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
)

// recoveries has the durations of restarts.
func (s *stage) recoveries(out *screen.Screen) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.recovery) == 0 {
		return ""
	}
	return fmt.Sprintf("\n%s\n%s", out.Strong("Recovery: from the start of the process until it is ready (milliseconds)"),
		screen.Table([]string{"", "count", "p50", "p95", "max"}, [][]string{{
			"restart", fmt.Sprint(len(s.recovery)), report.Millis(percentile.Of(s.recovery, 0.5)), report.Millis(percentile.Of(s.recovery, 0.95)), report.Millis(percentile.Of(s.recovery, 1)),
		}}))
}
