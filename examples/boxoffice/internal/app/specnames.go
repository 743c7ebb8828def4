package app

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// specNames are the library's series that the box office serves under a second name as
// well: the names that its specification promises to dashboards and alerts of others.
var specNames = map[string]string{
	"millrace_rate_limiter_acquired_total":  "rate_limiter_acquired_total",
	"millrace_rate_limiter_rejected_total":  "rate_limiter_rejected_total",
	"millrace_rate_limiter_rps":             "rate_limiter_rps",
	"millrace_coalesce_hit_total":           "dedup_coalesce_hit_total",
	"millrace_coalesce_upgrade_total":       "dedup_upgrade_total",
	"millrace_coalesce_lock_conflict_total": "dedup_lock_conflict_total",
	"millrace_coalesce_obsolete_total":      "obsolete_event_skipped_total",
	"millrace_consumer_lag":                 "kafka_consumer_lag",
	"millrace_bus_publish_failed_total":     "kafka_producer_send_failed_total",
	"millrace_dead_letters":                 "dlq_message_count",
}

// specified gathers another gatherer's metrics, and adds the promised names. Both
// names show one collector's values, read once.
type specified struct{ prometheus.Gatherer }

// Gather implements [prometheus.Gatherer].
func (s specified) Gather() ([]*dto.MetricFamily, error) {
	families, err := s.Gatherer.Gather()
	for _, f := range slices.Clone(families) {
		if name, ok := specNames[f.GetName()]; ok {
			families = append(families, &dto.MetricFamily{Name: &name, Help: f.Help, Type: f.Type, Unit: f.Unit, Metric: f.Metric})
		}
	}
	slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return families, err
}
