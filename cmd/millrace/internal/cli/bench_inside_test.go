package cli

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/cmd/millrace/internal/bench"
)

// The output of bench for given results.
func TestBenchShown(t *testing.T) {
	full := benchReport{
		Name: "millrace_bench", Seconds: 3, Size: 500, Callers: 16,
		Outbox: &outboxReport{measured{URL: "postgres://db/shop"}, bench.OutboxResult{
			Appended: 60000, AppendPS: 20000.4, Drained: 60000, DrainPS: 78123.5, ToPublish: &bench.Latency{Count: 300, P50: 0.77, P99: 18.874},
		}},
		Transport: &transportReport{measured{URL: "kafka://k1,k2/"}, bench.TransportResult{
			RoundTrip: &bench.Latency{Count: 299, P50: 1.032, P99: 117.441}, Published: 90000, PublishPS: 30000, Handled: 89990, HandlePS: 29000,
		}},
		Limiter: &limiterReport{measured{URL: "redis://cache/0"}, bench.LimiterResult{Runs: []bench.LimiterRun{
			{Callers: 1, Granted: 45000, Decisions: 15000, Latency: &bench.Latency{Count: 45000, P50: 0.023, P99: 0.705}},
			{Callers: 64, Granted: 1200000, Refused: 3, Decisions: 400000, Latency: &bench.Latency{Count: 1200003, P50: 0.119, P99: 0.786}},
		}}},
	}
	// Interrupted before the first measurement; the other parts were not requested.
	little := benchReport{
		Name: "millrace_bench", Seconds: 3, Size: 500, Callers: 16, Interrupted: true,
		Limiter: &limiterReport{measured{URL: "redis://cache/0", Error: "context canceled"}, bench.LimiterResult{Runs: []bench.LimiterRun{}}},
	}
	for name, r := range map[string]benchReport{"bench": full, "bench-interrupted": little} {
		for _, suffix := range []string{".txt", ".json"} {
			var out bytes.Buffer
			a := &app{Streams: Streams{Out: &out}, json: suffix == ".json"}
			require.NoError(t, a.showBench(r))
			Golden(t, name+suffix, out.String())
		}
	}
}
