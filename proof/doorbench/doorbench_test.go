package doorbench

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/proof/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	var out bytes.Buffer
	rec := report.To(&out)
	err := Run(t.Context(), Config{
		URL:   servicetest.Env(t, "MILLRACE_POSTGRES_URL", "PostgreSQL", "postgres://user:password@127.0.0.1:5432/name"),
		Emits: 20, Events: 50, Rounds: 1, Prefix: "bench_" + strconv.FormatInt(time.Now().UnixNano(), 36),
	}, rec)
	require.NoErrorf(t, err, "%v\n%s", err, &out)
	if s := rec.Section(); len(s.Charts) != 2 || len(s.Figures) != 4 || !s.Figures[0].Median.Known() {
		t.Errorf("recorded are %+v", s)
	}
	if n := strings.Count(out.String(), "goal >= 0.95"); n != 2 {
		t.Errorf("%d ratios instead of 2 in\n%s", n, &out)
	}
}
