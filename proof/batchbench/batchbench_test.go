package batchbench

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/proof/report"
)

// Sarama's metrics, of the client that sweeps up, have a goroutine for good.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

func TestRun(t *testing.T) {
	var out bytes.Buffer
	cfg := Config{
		Single: 20, Many: 200, Rounds: 1, Prefix: "bench_" + strconv.FormatInt(time.Now().UnixNano(), 36),
		URL:     servicetest.Env(t, "MILLRACE_POSTGRES_URL", "PostgreSQL", "postgres://user:password@127.0.0.1:5432/name"),
		Brokers: servicetest.Kafka(t),
	}
	rec := report.To(&out)
	if err := Run(t.Context(), cfg, rec); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if s := rec.Section(); len(s.Charts) != 1 || len(s.Figures) != 8 || !s.Figures[0].Median.Known() {
		t.Errorf("recorded are %+v", s)
	}
	if n := strings.Count(out.String(), "goal >= 5"); n != 4 {
		t.Errorf("%d ratios instead of 4 in\n%s", n, &out)
	}
}
