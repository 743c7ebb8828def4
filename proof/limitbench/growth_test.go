package limitbench

import (
	"bytes"
	"context"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/proof/report"
)

// With the given number of processes, each of which is granted some calls.
func TestRunGrowth(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		servicetest.Missing(t, "needs redis-server in PATH (Debian: redis-server)")
	}
	var out bytes.Buffer
	rec := report.To(&out)
	cfg := Growth{Callers: []int{1, 8}, Processes: []int{1, 3}, Span: 50 * time.Millisecond, Rounds: 2, Prefix: "g" + strconv.FormatInt(time.Now().UnixNano(), 36)}
	if err := RunGrowth(t.Context(), cfg, rec); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	s := rec.Section()
	if len(s.Figures) != 8 || len(s.Claims) != 4 {
		t.Fatalf("%d figures, %d claims\n%s", len(s.Figures), len(s.Claims), &out)
	}
	for _, f := range s.Figures {
		if len(f.Rounds) != 2 || f.Min <= 0 || f.CPU <= 0 || (f.Role == report.Limit) != strings.HasPrefix(f.Name, "limit: ") {
			t.Errorf("%+v", f)
		}
	}
}

func TestPart(t *testing.T) {
	for says, args := range map[string][]string{"no part": nil, "invalid syntax": {"redis://127.0.0.1:1/0", "key", "many"}, "does not parse": {"nowhere", "key", "1"}} {
		if err := Take(t.Context(), args, strings.NewReader(""), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	asks := map[string]decide{empty: func(context.Context) (bool, error) { return true, nil }}
	for _, line := range []string{"", "run", `run "nobody" 1 1`, `run "empty script" 0 1`} {
		if _, err := command(t.Context(), line, asks); err == nil || !strings.Contains(err.Error(), "what is") {
			t.Errorf("%q: %v", line, err)
		}
	}
	if got, err := command(t.Context(), `warm "empty script" 2 1`, asks); err != nil || len(strings.Fields(got)) != 3 {
		t.Errorf("%q, %v", got, err)
	}
}
