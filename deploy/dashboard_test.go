package deploy

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type source struct{ Type, UID string }

type panel struct {
	ID          int
	Type, Title string
	Description string
	Datasource  source
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct {
		RefID, Expr, LegendFormat string
		Datasource                source
	}
	FieldConfig struct {
		Defaults struct {
			Unit       string
			Thresholds struct{ Steps []struct{ Value *float64 } }
		}
	}
}

type board struct {
	UID, Title string
	Panels     []panel
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
}

// dashboard is that of a set.
func dashboard(t *testing.T, set string) (b board) {
	t.Helper()
	text, err := os.ReadFile("grafana/" + set + ".json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &b))
	return b
}

// units that Grafana knows, of those that the panels use.
var units = []string{"short", "s", "bytes", "reqps", "mps", "eps", "cpm"}

func TestDashboard(t *testing.T) {
	uids := map[string]bool{}
	for _, set := range sets {
		b := dashboard(t, set.name)
		if uids[b.UID] {
			t.Errorf("two dashboards have the uid %q", b.UID)
		}
		uids[b.UID] = true
		t.Run(set.name, func(t *testing.T) { sound(t, b) })
	}
}

func sound(t *testing.T, b board) {
	t.Helper()
	vars := b.Templating.List
	if b.UID == "" || b.Title == "" || len(vars) == 0 || vars[0].Name != "datasource" || vars[0].Type != "datasource" || vars[0].Query != "prometheus" {
		t.Errorf("the dashboard %q (%s) has the variables %+v; the first is the data source", b.Title, b.UID, vars)
	}
	ids, titles := map[int]bool{}, map[string]bool{}
	taken := map[[2]int]string{}
	row := ""
	for _, p := range b.Panels {
		if p.ID == 0 || ids[p.ID] {
			t.Errorf("%q has the id %d, which is 0 or there twice", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other, is := taken[at]; is || at[0] >= 24 {
					t.Fatalf("%q lies outside or over %q", p.Title, other)
				}
				taken[at] = p.Title
			}
		}
		if p.Type == "row" {
			row = p.Title
			continue
		}
		if p.Title == "" || titles[row+p.Title] || len(p.Description) < 15 {
			t.Errorf("%q in %q: each panel has a title of its own and a description: %q", p.Title, row, p.Description)
		}
		titles[row+p.Title] = true
		if !slices.Contains(units, p.FieldConfig.Defaults.Unit) {
			t.Errorf("%q has the unit %q, which is none of %v", p.Title, p.FieldConfig.Defaults.Unit, units)
		}
		if len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" {
			t.Errorf("%q has %d queries of %+v; want one at least, of ${datasource}", p.Title, len(p.Targets), p.Datasource)
		}
		refs := map[string]bool{}
		for _, target := range p.Targets {
			if target.RefID == "" || refs[target.RefID] || target.Expr == "" || target.LegendFormat == "" || target.Datasource.UID != "${datasource}" {
				t.Errorf("%q has the query %+v; want a refId of its own, an expression, a legend and ${datasource}", p.Title, target)
			}
			refs[target.RefID] = true
		}
		for i, s := range p.FieldConfig.Defaults.Thresholds.Steps {
			assert.Equalf(t, (i == 0), (s.Value == nil), "%q: the first threshold has no value, the others have: Grafana shows none otherwise", p.Title)
		}
	}
}

// TestDashboardShows: the quantities of the specification, and those of the alerts,
// so that each alert has its curve on the dashboard beside it.
func TestDashboardShows(t *testing.T) {
	for set, want := range map[string][]string{
		"millrace": {
			"sum(millrace_rate_limiter_rps)", `millrace_rate_limiter_tokens{priority="high"}`, `millrace_rate_limiter_tokens{priority="low"}`,
			"(millrace_consumer_lag)", "(millrace_dead_letters)", "(millrace_outbox_backlog)", "(millrace_outbox_oldest_age_seconds)",
			"millrace_outbox_publish_latency_seconds_bucket", "(millrace_queue_waiting)", "(millrace_queue_active)", "(millrace_sse_streams)",
			"millrace_counter_rows_total", "millrace_counter_adds_total",
		},
		"boxoffice": {
			"sum(rate_limiter_rps)", `rate_limiter_tokens{priority="high"}`, `rate_limiter_tokens{priority="low"}`,
			"histogram_quantile(0.5, sum by (le) (rate(update_process_duration_seconds_bucket", "histogram_quantile(0.95, sum by (le) (rate(update_process_duration_seconds_bucket",
			"histogram_quantile(0.99, sum by (le) (rate(update_process_duration_seconds_bucket", "(db_circuit_breaker_state)", "(redis_circuit_breaker_state)",
			"(dlq_message_count)",
		},
	} {
		var shown strings.Builder
		for _, p := range dashboard(t, set).Panels {
			for _, target := range p.Targets {
				shown.WriteString(chosen.Replace(target.Expr) + "\n")
			}
		}
		for _, r := range alerts(t, set) {
			for _, s := range selectedBy(r.Expr) {
				if s.name != "millrace_outbox_lease_taken" { // shown by its holder
					want = append(want, s.name)
				}
			}
		}
		for _, what := range want {
			assert.Containsf(t, shown.String(), what, "%s: no panel shows %s", set, what)
		}
	}
}

// chosen leaves out the choice of services.
var chosen = strings.NewReplacer(`{job=~"$job"}`, "", `job=~"$job",`, "")
