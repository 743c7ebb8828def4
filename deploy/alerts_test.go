package deploy

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

type rule struct {
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

// sets are the monitored sets: each has rules, their tests, a dashboard and a page
// for operators of its own.
var sets = []struct{ name, runbook string }{
	{"millrace", "docs/operating.md"}, // the library, in any service
	{"boxoffice", "docs/operating-boxoffice.md"},
}

// alerts are the rules of a set, in their order.
func alerts(t *testing.T, set string) (all []rule) {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []rule }
	}
	read(t, "prometheus/"+set+".yml", &file)
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoErrorf(t, yaml.Unmarshal(text, into), "%s", file)
}

// TestThresholds: the thresholds and levels of the specification, word for word, and
// beside them our own ones.
func TestThresholds(t *testing.T) {
	const p1, p2, p3 = "critical P1", "warning P2", "info P3"
	type threshold struct{ alert, metric, bound, level string }
	for set, want := range map[string][]threshold{
		"millrace": {
			{"HighPriorityRejected", `millrace_rate_limiter_rejected_total{priority="high"}[5m]`, "/ 5 > 10", p2},
			{"LockConflicts", "millrace_coalesce_lock_conflict_total[5m]", "/ 5 > 100", p2},
			{"ProducerFailures", "millrace_bus_publish_failed_total", "> 0", p2},
			{"DeadLetters", "increase(millrace_consumer_dead_lettered_total[1h])", "> 100", p1},

			{"OutboxOld", "millrace_outbox_oldest_age_seconds", "> 60", p2},
			{"OutboxVeryOld", "millrace_outbox_oldest_age_seconds", "> 10 * 60", p1},
			{"OutboxWithoutRelay", "millrace_outbox_lease_taken", "== 0", p1},
			{"OutboxHung", "increase(millrace_outbox_hung_total[15m])", "> 0", p2},
			{"OutboxParked", "millrace_outbox_parked", "> 0", p2},
			{"OutboxOldSnapshot", "millrace_outbox_oldest_snapshot_seconds", "> 60 * 60", p2},
			{"OutboxUnknown", "millrace_outbox_stats_age_seconds", "> 60", p2},
			{"ConsumerPaused", "millrace_consumer_paused", "== 1", p2},
			{"ConsumerBehind", "millrace_consumer_lag_seconds", "> 60 * 60", p2},
			{"LagUnknown", "millrace_consumer_lag_age_seconds", "> 60", p2},
		},
		"boxoffice": {
			{"LimiterOverTheLimit", "rate_limiter_rps", "> 500", p1},
			{"HighLagCritical", `kafka_consumer_lag{topic="update-priority-high"}`, "> 5000", p1},
			{"HighLag", `kafka_consumer_lag{topic="update-priority-high"}`, "> 1000", p2},
			{"LowLag", `millrace_consumer_lag_seconds{topic="update-priority-low"}`, "> 30 * 60", p3},
			{"ProcessingSlow", "histogram_quantile(0.95, sum by (le) (rate(update_process_duration_seconds_bucket[5m])))", "> 3", p2},
			{"UpdateErrors", "update_process_error_total[5m]", "/ 5 > 10", p2},
			{"UpsertSlow", "histogram_quantile(0.95, sum by (le) (rate(db_upsert_duration_seconds_bucket[5m])))", "> 1", p2},
			{"DatabaseBreakerOpen", "db_circuit_breaker_state", "== 2", p1},
			{"RedisBreakerOpen", "redis_circuit_breaker_state", "== 2", p1},
			{"RedisSlow", "histogram_quantile(0.95, sum by (le) (rate(redis_command_duration_seconds_bucket[5m])))", "> 0.05", p3},

			{"LiveLate", "histogram_quantile(0.95, sum by (le, kind) (rate(live_latency_seconds_bucket[5m])))", "> 1", p2},
			{"BoxOfficeDown", `up{job="boxoffice"}`, "== 0", p1},
			{"BoxOfficeNotScraped", `up{job="boxoffice"}`, "absent(up{job=\"boxoffice\"})", p1},
		},
	} {
		got := alerts(t, set)
		for _, w := range want {
			i := slices.IndexFunc(got, func(r rule) bool { return r.Alert == w.alert })
			if i < 0 {
				t.Errorf("%s: there is no alert %s", set, w.alert)
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
		assert.Lenf(t, got, len(want), "%s: %d alerts, want %d; list each here", set, len(got), len(want))
	}
}

// TestTheLibraryStandsAlone: rules and dashboard of the library work for any service. They
// query its own series alone, and keep services in one Prometheus apart.
func TestTheLibraryStandsAlone(t *testing.T) {
	own := func(expr string) bool {
		return !slices.ContainsFunc(selectedBy(expr), func(s selected) bool { return !strings.HasPrefix(s.name, "millrace_") })
	}
	for _, r := range alerts(t, "millrace") {
		assert.Truef(t, own(r.Expr), "%s asks for series that are not the library's: %s", r.Alert, r.Expr)
		if !strings.Contains(r.Expr, " by (job") || !strings.HasPrefix(r.Annotations["summary"], "{{ $labels.job }}: ") {
			t.Errorf("%s does not say of which job it is: %s, %q", r.Alert, r.Expr, r.Annotations["summary"])
		}
	}
	for _, p := range dashboard(t, "millrace").Panels {
		for _, target := range p.Targets {
			for _, s := range selectedBy(target.Expr) {
				if !strings.HasPrefix(s.name, "millrace_") || !strings.HasPrefix(s.matchers, `job=~"$job"`) {
					t.Errorf("the panel %q asks for %s{%s}; want series of the library, of the chosen services", p.Title, s.name, s.matchers)
				}
			}
		}
	}
}

var runbook = regexp.MustCompile(`^https://github\.com/millrace-go/millrace/blob/main/(docs/operating(?:-boxoffice)?\.md)#([a-z-]+)$`)

// TestAlertsSayWhatToDo: an alert describes the problem and the remedy, and links to a
// section that exists. Alerts of the library link to its own page.
func TestAlertsSayWhatToDo(t *testing.T) {
	headings := map[string]bool{}
	for _, set := range sets {
		page, err := os.ReadFile("../" + set.runbook)
		require.NoError(t, err)
		for line := range strings.Lines(string(page)) {
			if text, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
				headings[set.runbook+"#"+strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), " ", "-")] = true
			}
		}
	}
	seen := map[string]bool{}
	for _, set := range sets {
		for _, r := range alerts(t, set.name) {
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
			if link == nil || !headings[link[1]+"#"+link[2]] {
				t.Errorf("%s: the runbook %q is no section of a page for operators", r.Alert, r.Annotations["runbook_url"])
			} else if set.name == "millrace" && link[1] != set.runbook {
				t.Errorf("%s: the runbook is in %s; want %s, which is for every service", r.Alert, link[1], set.runbook)
			}
		}
	}
}

// TestEveryAlertHasItsCases: each alert has a case in which it fires and one in which it
// does not, of the same metric.
func TestEveryAlertHasItsCases(t *testing.T) {
	for _, set := range sets {
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
		read(t, "prometheus/"+set.name+"_test.yml", &file)
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
		for _, r := range alerts(t, set.name) {
			if rings[r.Alert] == 0 || silent[r.Alert] == 0 {
				t.Errorf("%s: %d cases ring and %d are silent; want one of each at least", r.Alert, rings[r.Alert], silent[r.Alert])
			}
		}
	}
}
