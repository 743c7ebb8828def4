package queuebench

import (
	"bytes"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/proof/report"
)

func growth() Growth {
	return Growth{People: []int{200, 3000}, Admitted: 50, Span: 50 * time.Millisecond, Rounds: 2, Event: "g" + strconv.FormatInt(time.Now().UnixNano(), 36)}
}

func TestRunGrowth(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		servicetest.Missing(t, "needs redis-server in PATH (Debian: redis-server)")
	}
	var out bytes.Buffer
	rec := report.To(&out)
	if err := RunGrowth(t.Context(), growth(), rec); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	s := rec.Section()
	if len(s.Figures) != 10 || len(s.Claims) != 4 {
		t.Fatalf("%d figures, %d claims\n%s", len(s.Figures), len(s.Claims), &out)
	}
	for _, f := range s.Figures {
		// A tick can be too short for Redis's own record.
		if len(f.Rounds) != 2 || f.Min <= 0 && !strings.HasPrefix(f.Name, "of it") || (f.Role == report.Limit) != strings.HasPrefix(f.Name, "limit: ") {
			t.Errorf("%+v", f)
		}
	}
}

// On the server of a URL, which others use too, nothing is left.
func TestRunGrowthOnGivenServer(t *testing.T) {
	cfg := growth()
	cfg.URL, cfg.Rounds = servicetest.Redis(t), 1
	t.Setenv("PATH", t.TempDir()) // no redis-server there
	require.NoError(t, RunGrowth(t.Context(), cfg, report.To(&bytes.Buffer{})))
	client, err := redisdb.Open(cfg.URL, redisdb.Config{})
	require.NoError(t, err)
	defer client.Close() //nolint:errcheck // ends with the test
	if keys, err := client.Keys(t.Context(), "*"+cfg.Event+"*").Result(); err != nil || len(keys) > 0 {
		t.Errorf("%v is left (%v)", keys, err)
	}
}

func TestGrowthConfig(t *testing.T) {
	if err := RunGrowth(t.Context(), Growth{People: []int{100, 1000}}, report.To(&bytes.Buffer{})); err == nil || !strings.Contains(err.Error(), "give more people") {
		t.Errorf("%v", err)
	}
}
