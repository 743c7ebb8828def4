package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// specSeries is every metric that the specification names or asks for, with the labels
// that each has from the start, and the test that causes it to move. The name of the
// library's own series counts where the specification promises no other.
var specSeries = []struct {
	name   string
	labels []string // of each series, as they are served; none for one series
	moves  string   // package folder below the module, and test
}{
	// 6: the rate limiter. The remainder of both buckets is on the dashboard.
	{"rate_limiter_acquired_total", labelled("priority", "high", "low"), "metrics.TestRateLimitRateAndTokens"},
	{"rate_limiter_rejected_total", refusals("high", "low"), "metrics.TestRateLimitEveryReason"},
	{"rate_limiter_rps", nil, "metrics.TestRateLimitRateAndTokens"},
	{"millrace_rate_limiter_tokens", labelled("priority", "high", "low"), "metrics.TestRateLimitRateAndTokens"},
	{"millrace_rate_limiter_circuit_breaker_state", nil, "metrics.TestRateLimitEveryReason"},
	// 7: coalescing.
	{"dedup_coalesce_hit_total", nil, "examples/boxoffice/internal/artist.TestRequestsThatMeet"},
	{"dedup_upgrade_total", nil, "examples/boxoffice/internal/artist.TestRequestsThatMeet"},
	{"dedup_lock_conflict_total", nil, "examples/boxoffice/internal/artist.TestRequestsThatMeet"},
	{"obsolete_event_skipped_total", nil, "examples/boxoffice/internal/artist.TestRequestsThatMeet"},
	// 13: operations.
	{"kafka_consumer_lag", groups(), "examples/boxoffice/internal/app.TestFiguresOfRefreshes"},
	{"kafka_producer_send_failed_total", nil, "examples/boxoffice/internal/app.TestFiguresOfATransportThatRefuses"},
	{"update_process_duration_seconds_count", labelled("priority", "high", "low"), "examples/boxoffice/internal/artist.TestDurationsByPriority"},
	{"update_process_error_total", labelled("reason", "API_4XX", "API_5XX", "PARSE_ERROR", "RATE_LIMITED", "BUDGET", "DATABASE"), "examples/boxoffice/internal/artist.TestErrorsByReason"},
	{"db_circuit_breaker_state", nil, "examples/boxoffice/internal/artist.TestErrorsByReason"},
	{"redis_circuit_breaker_state", nil, "examples/boxoffice/internal/app.TestFiguresWithoutRedis"},
	{"db_upsert_duration_seconds_count", nil, "examples/boxoffice/internal/app.TestFiguresOfRefreshes"},
	{"redis_command_duration_seconds_count", nil, "examples/boxoffice/internal/app.TestFiguresOfRedis"},
	{"dlq_message_count", labelled("topic",
		"dlq.payment", "dlq.reservation", "dlq.transfer", "dlq.membership", "like-events.DLT", "order-events.DLT", "product-events.DLT",
		"stock-events.DLT", "notification_dlq", "aggregate_dlq", "chat_persist_dlq", "chat_fanout_dlq", "update-dlq"),
		"examples/boxoffice/internal/app.TestFiguresOfRefreshes"},
	// 4: the relay. The lease is held once the relay has begun.
	{"millrace_outbox_backlog", labelled("shard", "0"), "metrics.TestOutboxFailuresAreCounted"},
	{"millrace_outbox_oldest_age_seconds", labelled("shard", "0"), "metrics.TestOutboxFailuresAreCounted"},
	{"millrace_outbox_parked", labelled("shard", "0"), "metrics.TestOutboxFailuresAreCounted"},
	{"millrace_outbox_failed_total", outboxTopics(), "metrics.TestOutboxFailuresAreCounted"},
	{"millrace_outbox_published_total", outboxTopics(), "examples/boxoffice/internal/app.TestFiguresOfABooking"},
	{"millrace_outbox_publish_latency_seconds_count", outboxTopics(), "metrics.TestOutboxRelayIsCounted"},
	{"millrace_outbox_round_duration_seconds_count", labelled("shard", "0"), "metrics.TestOutboxRelayIsCounted"},
	// 8 and 10: drops are counted.
	{"millrace_queue_notices_total", labelled("outcome", "published", "dropped"), "metrics.TestQueueCounts"},
	{"notification_live_total", labelled("result", "dropped", "failed", "sent"), "examples/boxoffice/internal/app.TestFiguresOfABooking"},
}

func labelled(label string, values ...string) (all []string) {
	for _, v := range values {
		all = append(all, fmt.Sprintf("{%s=%q}", label, v))
	}
	return all
}

func refusals(priorities ...string) (all []string) {
	for _, p := range priorities {
		for _, reason := range []string{"day", "global", "low_cap", "low_share", "unavailable", "yield"} {
			all = append(all, fmt.Sprintf("{priority=%q,reason=%q}", p, reason))
		}
	}
	return all
}

func outboxTopics() []string {
	return labelled("topic", "payment.events", "reservation.events", "transfer.events", "membership.events",
		"like-events", "order-events", "product-events", "stock-events", "domain_events")
}

func groups() (all []string) {
	for topic, groups := range map[string][]string{
		"payment.events":     {"reservation-payment-consumer", "event-payment-consumer", "ticket-service-group", "stats-service-group"},
		"reservation.events": {"event-reservation-consumer", "stats-service-group"},
		"transfer.events":    {"stats-service-group"}, "membership.events": {"stats-service-group"},
		"like-events": {"like-service-group"}, "order-events": {"order-service-group"},
		"product-events": {"product-service-group"}, "stock-events": {"stock-service-group"},
		"domain_events":        {"chat_persist_queue", "chat_fanout_queue", "aggregate_queue", "notification_queue"},
		"update-priority-high": {"high-worker"}, "update-priority-low": {"low-worker"},
	} {
		for _, group := range groups {
			all = append(all, fmt.Sprintf("{group=%q,topic=%q}", group, topic))
		}
	}
	return all
}

// TestEverySpecMetricFromTheStart: the author of an alert finds its series before the
// first failure.
func TestEverySpecMetricFromTheStart(t *testing.T) {
	t.Parallel()
	got := start(t, "--data-dir", t.TempDir()).figures()
	for _, spec := range specSeries {
		labels := spec.labels
		if labels == nil {
			labels = []string{""}
		}
		for _, l := range labels {
			if value, ok := got[spec.name+l]; !ok || value != 0 {
				t.Errorf("%s%s is %v, there: %t; want 0 from the start", spec.name, l, value, ok)
			}
		}
		for series := range got {
			if name, rest, _ := strings.Cut(series, "{"); name == spec.name && rest != "" && !slices.Contains(labels, "{"+rest) {
				t.Errorf("%s is not in the list; add it to specSeries", series)
			}
		}
	}
}

// TestEverySpecMetricIsMoved: the test that is named for a metric exists, in a file
// that looks at that metric.
func TestEverySpecMetricIsMoved(t *testing.T) {
	for _, spec := range specSeries {
		folder, test, _ := strings.Cut(spec.moves, ".")
		text := fileOf(t, filepath.Join("..", "..", "..", "..", folder), test)
		name := strings.TrimSuffix(spec.name, "_count")
		library := libraryName(name) // a test of the library looks at that
		// Tests of the outbox omit the common prefix of its series.
		if !strings.Contains(text, name) && !strings.Contains(text, library) && !strings.Contains(text, `"`+strings.TrimPrefix(name, "millrace_outbox_")+" ") {
			t.Errorf("the file of %s in %s does not look at %s", test, folder, name)
		}
	}
}

// libraryName is the library's name of a series that has a promised one, else the name.
func libraryName(name string) string {
	for library, promised := range specNames {
		if promised == name {
			return library
		}
	}
	return name
}

// TestPromisedNamesShowTheLibrarysSeries: both names have the same series with the same
// values, and no other series of the library is served twice.
func TestPromisedNamesShowTheLibrarysSeries(t *testing.T) {
	registry := prometheus.NewRegistry()
	acquired := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "millrace_rate_limiter_acquired_total", Help: "Granted."}, []string{"priority"})
	acquired.WithLabelValues("high").Add(3)
	acquired.WithLabelValues("low").Add(2)
	other := prometheus.NewGauge(prometheus.GaugeOpts{Name: "millrace_rate_limiter_day_used", Help: "Used."})
	registry.MustRegister(acquired, other)
	want := "# HELP millrace_rate_limiter_acquired_total Granted.\n# TYPE millrace_rate_limiter_acquired_total counter\n" +
		"millrace_rate_limiter_acquired_total{priority=\"high\"} 3\nmillrace_rate_limiter_acquired_total{priority=\"low\"} 2\n" +
		"# HELP millrace_rate_limiter_day_used Used.\n# TYPE millrace_rate_limiter_day_used gauge\nmillrace_rate_limiter_day_used 0\n" +
		"# HELP rate_limiter_acquired_total Granted.\n# TYPE rate_limiter_acquired_total counter\n" +
		"rate_limiter_acquired_total{priority=\"high\"} 3\nrate_limiter_acquired_total{priority=\"low\"} 2\n"
	scrape := httptest.NewRecorder()
	promhttp.HandlerFor(specified{registry}, promhttp.HandlerOpts{}).ServeHTTP(scrape, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if got := scrape.Body.String(); got != want {
		t.Errorf("served is\n%s\nwant\n%s", got, want)
	}
	names := map[string]bool{}
	for _, spec := range specSeries {
		names[spec.name] = true
	}
	for library, promised := range specNames {
		assert.Truef(t, names[promised], "%s is served as %s, which the specification does not name; add it to specSeries, or take it out", library, promised)
	}
}

// fileOf is the text of the file that has a test.
func fileOf(t *testing.T, folder, test string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(text), "\nfunc "+test+"(t *testing.T) {\n") {
			return string(text)
		}
	}
	t.Errorf("there is no test %s in %s", test, folder)
	return ""
}
