package deploy

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// golden lists the box office's series. Its own tests compare it with the app.
const golden = "../examples/boxoffice/internal/app/testdata/series.txt"

// family is a metric as it is served.
type family struct {
	kind   string
	series []map[string]string // the labels of each
}

// served are the metrics by name. Those of Prometheus itself and of the Go runtime
// exist on every target.
func served(t *testing.T) map[string]*family {
	t.Helper()
	text, err := os.ReadFile(golden)
	require.NoError(t, err)
	all := map[string]*family{
		"up":                            {kind: "gauge", series: []map[string]string{{"job": "boxoffice"}}},
		"process_resident_memory_bytes": {kind: "gauge", series: []map[string]string{{"job": "boxoffice"}}},
		"go_goroutines":                 {kind: "gauge", series: []map[string]string{{"job": "boxoffice"}}},
	}
	add := func(name, kind string, labels map[string]string) {
		if all[name] == nil {
			all[name] = &family{kind: kind}
		}
		all[name].series = append(all[name].series, labels)
	}
	for line := range strings.Lines(string(text)) {
		kind, series, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, inside, _ := strings.Cut(strings.TrimSuffix(series, "}"), "{")
		labels := map[string]string{"job": "boxoffice"}
		for _, m := range matcher.FindAllStringSubmatch(inside, -1) {
			labels[m[1]] = m[3]
		}
		if kind == "histogram" {
			add(name+"_bucket", "counter", labels)
			add(name+"_count", "counter", labels)
			add(name+"_sum", "counter", labels)
			continue
		}
		add(name, kind, labels)
	}
	return all
}

var (
	matcher = regexp.MustCompile(`([a-z_]+)(=~?)"([^"]*)"`)
	// clause is a clause that names labels, and no metric.
	clause = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`)
	// selector is a name with its suffix: matchers, a range, an opening bracket.
	selector = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*(\s*\(|(\{[^}]*\})?(\[[^\]]*\])?)`)
	words    = regexp.MustCompile(`^(and|or|unless|bool|offset|inf|nan)$`)
)

// selected is a metric in an expression.
type selected struct {
	name, matchers string
	ranged         bool
}

func selectedBy(expr string) (all []selected) {
	expr = clause.ReplaceAllString(expr, " ")
	for _, m := range selector.FindAllString(expr, -1) {
		name, rest, _ := strings.Cut(m, "{")
		name, window, ranged := strings.Cut(name, "[")
		if strings.HasSuffix(m, "(") || words.MatchString(strings.ToLower(name)) {
			continue
		}
		ranged = ranged || strings.Contains(rest, "[") || window != ""
		matchers, _, _ := strings.Cut(rest, "}")
		all = append(all, selected{name, matchers, ranged})
	}
	return all
}

// unserved describes the fault of an expression, "" when all its metrics are served.
func unserved(all map[string]*family, expr string) string {
	found := selectedBy(expr)
	if len(found) == 0 {
		return "asks for no metric"
	}
	for _, s := range found {
		f := all[s.name]
		if f == nil {
			return "asks for " + s.name + ", which the box office does not serve"
		}
		if !f.has(s.matchers) {
			return "asks for " + s.name + "{" + s.matchers + "}, of which there is none"
		}
		if s.ranged && f.kind != "counter" && !strings.Contains(expr, "_over_time(") {
			return "makes a rate of " + s.name + ", which is a " + f.kind
		}
	}
	return ""
}

// has reports whether a series matches.
func (f *family) has(matchers string) bool {
	for _, labels := range f.series {
		fits := true
		for _, m := range matcher.FindAllStringSubmatch(matchers, -1) {
			value := labels[m[1]]
			switch m[2] {
			case "=":
				fits = fits && value == m[3]
			default:
				fits = fits && regexp.MustCompile("^(?:"+m[3]+")$").MatchString(value)
			}
		}
		if fits {
			return true
		}
	}
	return false
}

func TestEveryMetricExists(t *testing.T) {
	all := served(t)
	for _, set := range sets {
		for _, r := range alerts(t, set.name) {
			if why := unserved(all, r.Expr); why != "" {
				t.Errorf("the alert %s %s", r.Alert, why)
			}
		}
		for _, p := range dashboard(t, set.name).Panels {
			for _, target := range p.Targets {
				if why := unserved(all, chosen.Replace(target.Expr)); why != "" {
					t.Errorf("the panel %q %s: %s", p.Title, why, target.Expr)
				}
			}
		}
	}
	// The check itself: each of these is wrong in its own way.
	for expr, want := range map[string]string{
		`sum(rate_limiter_rpm)`:                                                   "rate_limiter_rpm, which",
		`max(kafka_consumer_lag{topic="update-priority-hihg"})`:                   "of which there is none",
		`sum by (topic) (rate(kafka_consumer_lag[5m]))`:                           "which is a gauge",
		`histogram_quantile(0.5, sum by (le) (rate(update_duration_bucket[5m])))`: "update_duration_bucket, which",
		`vector(1)`: "no metric",
		`sum(rate(rate_limiter_rejected_total{priority="high",reason="hard"}[5m]))`: "of which there is none",
	} {
		assert.Containsf(t, unserved(all, expr), want, "%s", expr)
	}
}
