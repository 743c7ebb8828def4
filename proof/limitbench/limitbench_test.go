package limitbench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/proof/report"
)

// TestMain is also one of the processes that share a limit.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Part {
		if err := Take(context.Background(), os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// config is a run that checks the harness, without figures worth reading.
func config() Config {
	return Config{Span: 100 * time.Millisecond, Lone: 100, Herds: 2, Rounds: 1, Prefix: "b" + strconv.FormatInt(time.Now().UnixNano(), 36)}
}

func smoke(t *testing.T, cfg Config) string {
	t.Helper()
	var out bytes.Buffer
	rec := report.To(&out)
	if err := Run(t.Context(), cfg, rec); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if s := rec.Section(); len(s.Charts) != 4 || len(s.Figures) != 14 || len(s.Charts[0].Goals) != 1 {
		t.Errorf("recorded are %+v", s)
	}
	text := out.String()
	for what, n := range map[string]int{
		"goal >= 5": 1, "goal >= 20": 1, "goal <= 0.1": 2, "goal <= 1.1": 1, "goal <= 0 ": 1,
		"\ngranted": 8, "\ndenied": 4, "\nherd": 2, "\na lone caller waits": 4,
	} {
		if got := strings.Count(text, what); got != n {
			t.Errorf("%q is there %d times instead of %d in\n%s", what, got, n, text)
		}
	}
	return text
}

// On the server of a URL, which others use too.
func TestRunOnGivenServer(t *testing.T) {
	cfg := config()
	cfg.URL = servicetest.Redis(t)
	t.Setenv("PATH", t.TempDir()) // no redis-server there
	assert.Contains(t, smoke(t, cfg), "others do with the given one", "it does not say whose Redis it")
}

// A limiter's local state costs no call of Redis: counted, so independent of time.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		servicetest.Missing(t, "needs redis-server in PATH (Debian: redis-server)")
	}
	text := smoke(t, config())
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, "Redis calls of a denied flood") && !strings.HasSuffix(l, " met\n") {
			t.Error(l)
		}
	}
}

func TestNeitherServerNorURL(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := Run(t.Context(), Config{}, report.To(&bytes.Buffer{})); err == nil || !strings.Contains(err.Error(), "redis-server") {
		t.Errorf("%v", err)
	}
}
