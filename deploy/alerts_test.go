package deploy

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type rule struct {
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

// alerts are the rules, in their order.
func alerts(t *testing.T) (all []rule) {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []rule }
	}
	read(t, "prometheus/alerts.yml", &file)
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// TestThresholds: what the specification says of alerts, word for word. The last ones
// are of our own making.
func TestThresholds(t *testing.T) {
	const p1, p2, p3 = "critical P1", "warning P2", "info P3"
	want := []struct{ alert, metric, bound, level string }{
		{"LimiterOverTheLimit", "rate_limiter_rps", "> 500", p1},
		{"HighPriorityRejected", `rate_limiter_rejected_total{priority="high"}[5m]`, "/ 5 > 10", p2},
		{"HighLagCritical", `kafka_consumer_lag{topic="update-priority-high"}`, "> 5000", p1},
		{"HighLag", `kafka_consumer_lag{topic="update-priority-high"}`, "> 1000", p2},
		{"LowLag", `kafka_consumer_lag_seconds{topic="update-priority-low"}`, "> 30 * 60", p3},
		{"ProcessingSlow", "histogram_quantile(0.95, sum by (le) (rate(update_process_duration_seconds_bucket[5m])))", "> 3", p2},
		{"UpdateErrors", "update_process_error_total[5m]", "/ 5 > 10", p2},
		{"LockConflicts", "dedup_lock_conflict_total[5m]", "/ 5 > 100", p2},
		{"UpsertSlow", "histogram_quantile(0.95, sum by (le) (rate(db_upsert_duration_seconds_bucket[5m])))", "> 1", p2},
		{"DatabaseBreakerOpen", "db_circuit_breaker_state", "== 2", p1},
		{"RedisBreakerOpen", "redis_circuit_breaker_state", "== 2", p1},
		{"RedisSlow", "histogram_quantile(0.95, sum by (le) (rate(redis_command_duration_seconds_bucket[5m])))", "> 0.05", p3},
		{"ProducerFailures", "kafka_producer_send_failed_total", "> 0", p2},
		{"DeadLetters", "increase(consumer_dead_lettered_total[1h])", "> 100", p1},

		{"OutboxOld", "outbox_oldest_age_seconds", "> 60", p2},
		{"OutboxVeryOld", "outbox_oldest_age_seconds", "> 10 * 60", p1},
		{"OutboxWithoutRelay", "outbox_lease_taken", "== 0", p1},
		{"OutboxParked", "outbox_parked", "> 0", p2},
		{"BoxOfficeDown", `up{job="boxoffice"}`, "== 0", p1},
		{"BoxOfficeNotScraped", `up{job="boxoffice"}`, "absent(up{job=\"boxoffice\"})", p1},
		{"LagUnknown", "kafka_consumer_lag_age_seconds", "> 60", p2},
		{"OutboxOldSnapshot", "outbox_oldest_snapshot_seconds", "> 60 * 60", p2},
		{"OutboxUnknown", "outbox_stats_age_seconds", "> 60", p2},
	}
	got := alerts(t)
	for _, w := range want {
		i := slices.IndexFunc(got, func(r rule) bool { return r.Alert == w.alert })
		if i < 0 {
			t.Errorf("there is no alert %s", w.alert)
			continue
		}
		r := got[i]
		if !strings.Contains(r.Expr, w.metric) || !strings.HasSuffix(r.Expr, w.bound) {
			t.Errorf("%s is %q; want it of %s, ending in %q", w.alert, r.Expr, w.metric, w.bound)
		}
		if level := r.Labels["severity"] + " " + r.Labels["level"]; level != w.level || len(r.Labels) != 2 {
			t.Errorf("%s has the labels %v, want severity and level %s", w.alert, r.Labels, w.level)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d alerts, want %d; list each here", len(got), len(want))
	}
}

var runbook = regexp.MustCompile(`^https://github\.com/millrace-go/millrace/blob/main/(docs/operating\.md)#([a-z-]+)$`)

// TestAlertsSayWhatToDo: whoever is woken reads what happened, what to do, and where
// the rest stands.
func TestAlertsSayWhatToDo(t *testing.T) {
	page, err := os.ReadFile("../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	headings := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if text, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			headings[strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), " ", "-")] = true
		}
	}
	seen := map[string]bool{}
	for _, r := range alerts(t) {
		if seen[r.Alert] {
			t.Errorf("%s is there twice", r.Alert)
		}
		seen[r.Alert] = true
		for _, name := range []string{"summary", "description", "runbook_url"} {
			if len(r.Annotations[name]) < 20 {
				t.Errorf("%s: the %s is %q; say what happened, what to do, and where the rest stands", r.Alert, name, r.Annotations[name])
			}
		}
		link := runbook.FindStringSubmatch(r.Annotations["runbook_url"])
		if link == nil || !headings[link[2]] {
			t.Errorf("%s: the runbook %q is no section of docs/operating.md", r.Alert, r.Annotations["runbook_url"])
		}
	}
}

// TestEveryAlertHasItsCases: each alert has a case in which it rings and one in which it
// does not, of the same metric.
func TestEveryAlertHasItsCases(t *testing.T) {
	var file struct {
		Tests []struct {
			Name          string
			InputSeries   []struct{ Series, Values string } `yaml:"input_series"`
			AlertRuleTest []struct {
				Alertname string
				ExpAlerts []any `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	read(t, "prometheus/alerts_test.yml", &file)
	rings, silent := map[string]int{}, map[string]int{}
	for _, c := range file.Tests {
		if len(c.AlertRuleTest) != 1 || len(c.InputSeries) == 0 {
			t.Errorf("%s: a case has series and looks at one alert", c.Name)
			continue
		}
		one := c.AlertRuleTest[0]
		counts := silent
		if len(one.ExpAlerts) > 0 {
			counts = rings
		}
		counts[one.Alertname]++
	}
	for _, r := range alerts(t) {
		if rings[r.Alert] == 0 || silent[r.Alert] == 0 {
			t.Errorf("%s: %d cases ring and %d are silent; want one of each at least", r.Alert, rings[r.Alert], silent[r.Alert])
		}
	}
}
