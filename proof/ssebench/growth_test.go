package ssebench

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/proof/report"
)

// More streams than a process may have are in several, and each client gets every
// event, which the harness waits for.
func TestRunGrowth(t *testing.T) {
	var out bytes.Buffer
	rec := report.To(&out)
	if err := RunGrowth(t.Context(), Growth{Streams: []int{10, 45}, Span: 20 * time.Millisecond, Rounds: 2, Most: 20}, rec); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	s := rec.Section()
	if len(s.Figures) != 12 || len(s.Claims) != 4 || len(s.Charts) != 2 {
		t.Fatalf("%d figures, %d claims\n%s", len(s.Figures), len(s.Claims), &out)
	}
	for _, f := range s.Figures {
		if len(f.Rounds) != 2 || f.Chart == "fan-out" && (f.Min <= 0 || f.CPU <= 0) || (f.Role == report.Limit) != strings.HasPrefix(f.Name, "limit: ") {
			t.Errorf("%+v", f)
		}
	}
	if err := RunGrowth(t.Context(), Growth{Size: 3}, rec); err == nil || !strings.Contains(err.Error(), "3 bytes") {
		t.Errorf("%v", err)
	}
}
