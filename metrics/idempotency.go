package metrics

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/idempotency"
)

// IdempotencyConfig is the configuration of [NewIdempotency]. At least one guard, lease runner or HTTP middleware is
// required. Their counts are summed by group.
type IdempotencyConfig struct {
	// Guards cost 3 series per group.
	Guards []Guard
	// Leases and HTTP cost 6 series per group.
	Leases []*idempotency.Leases
	HTTP   []*idempotency.HTTP
}

// Guard is an [idempotency.Guard], whatever its transactions are.
type Guard interface {
	Stats() idempotency.Stats
}

func (c IdempotencyConfig) validate() error {
	if len(c.Guards)+len(c.Leases)+len(c.HTTP) == 0 {
		return errors.New("metrics: IdempotencyConfig has no Guards, no Leases and no HTTP; give what is to be shown")
	}
	for field, at := range map[string]int{
		"Guards": slices.Index(c.Guards, Guard(nil)), "Leases": slices.Index(c.Leases, nil), "HTTP": slices.Index(c.HTTP, nil),
	} {
		if at >= 0 {
			return fmt.Errorf("metrics: IdempotencyConfig.%s[%d] is nil; leave it out", field, at)
		}
	}
	return nil
}

// idempotencyCollector is a [prometheus.Collector] of guards, leases and HTTP middlewares.
type idempotencyCollector struct {
	cfg                  IdempotencyConfig
	events, claims, lost *prometheus.Desc
}

var _ prometheus.Collector = (*idempotencyCollector)(nil)

// NewIdempotency creates a collector of guards, leases and HTTP middlewares; the caller registers
// it.
func NewIdempotency(cfg IdempotencyConfig) (prometheus.Collector, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Guards, cfg.Leases, cfg.HTTP = slices.Clone(cfg.Guards), slices.Clone(cfg.Leases), slices.Clone(cfg.HTTP)
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("millrace_idempotency_"+name, help, append([]string{"group"}, variable...), nil)
	}
	return &idempotencyCollector{
		cfg:    cfg,
		events: desc("events_total", "Events of guards.", "outcome"),
		claims: desc("claims_total", "Claims of leases and of HTTP requests.", "outcome"),
		lost:   desc("leases_lost_total", "Claims that were lost while the work went on."),
	}, nil
}

// Describe implements [prometheus.Collector].
func (c *idempotencyCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.events, c.claims, c.lost} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *idempotencyCollector) Collect(out chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	guards := map[string]idempotency.Stats{}
	for _, g := range c.cfg.Guards {
		s := g.Stats()
		sum := guards[s.Group]
		guards[s.Group] = idempotency.Stats{
			Handled: sum.Handled + s.Handled, Duplicates: sum.Duplicates + s.Duplicates, Failed: sum.Failed + s.Failed,
		}
	}
	for group, s := range guards {
		count(c.events, s.Handled, group, "handled")
		count(c.events, s.Duplicates, group, "duplicate")
		count(c.events, s.Failed, group, "failed")
	}
	for group, s := range c.leases() {
		count(c.claims, s.Claimed, group, "claimed")
		count(c.claims, s.Done, group, "done")
		count(c.claims, s.Taken, group, "taken")
		count(c.claims, s.Mismatched, group, "mismatched")
		count(c.claims, s.Failed, group, "failed")
		count(c.lost, s.Lost, group)
	}
}

// leases returns the counts of leases and HTTP middlewares, by group.
func (c *idempotencyCollector) leases() map[string]idempotency.LeaseStats {
	all := map[string]idempotency.LeaseStats{}
	add := func(s idempotency.LeaseStats) {
		sum := all[s.Group]
		all[s.Group] = idempotency.LeaseStats{
			Claimed: sum.Claimed + s.Claimed, Done: sum.Done + s.Done, Taken: sum.Taken + s.Taken,
			Mismatched: sum.Mismatched + s.Mismatched, Failed: sum.Failed + s.Failed, Lost: sum.Lost + s.Lost,
		}
	}
	for _, l := range c.cfg.Leases {
		add(l.Stats())
	}
	for _, h := range c.cfg.HTTP {
		add(h.Stats())
	}
	return all
}
