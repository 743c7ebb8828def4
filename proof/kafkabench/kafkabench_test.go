package kafkabench

import (
	"bytes"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/proof/report"
)

// The peers' metrics have a goroutine for good.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

func TestRun(t *testing.T) {
	var out bytes.Buffer
	cfg := Config{
		Rows: 2000, Lone: 20, Rounds: 1, Prefix: "bench_" + strconv.FormatInt(time.Now().UnixNano(), 36),
		URL:     servicetest.Env(t, "MILLRACE_POSTGRES_URL", "PostgreSQL", "postgres://user:password@127.0.0.1:5432/name"),
		Brokers: servicetest.Kafka(t),
	}
	rec := report.To(&out)
	if err := Run(t.Context(), cfg, rec); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if s := rec.Section(); len(s.Charts) != 1 || len(s.Figures) != 4 || !s.Figures[0].Median.Known() {
		t.Errorf("recorded are %+v", s)
	}
	for _, want := range []string{"relay to Kafka / pgx and franz-go", "relay to Kafka / franz-go flat out", "relay to Kafka / watermill-kafka"} {
		assert.Containsf(t, out.String(), want, "no figure %q in\n%s", want, &out)
	}
}
