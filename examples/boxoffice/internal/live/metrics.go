package live

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/sse/sseprom"
)

// What became of tickets.
const (
	issued   = "issued"
	firstUse = "first"    // used for the first time
	returned = "returned" // used again by the tab that it is of
	refused  = "refused"
	unknown  = "unknown" // the store was away
)

func newOutcomes() *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "stream_tickets_total", Help: "What became of tickets for streams.",
	}, []string{"outcome"})
	for _, outcome := range []string{issued, firstUse, returned, refused, unknown} {
		v.WithLabelValues(outcome)
	}
	return v
}

// Collectors are the metrics of the hub and the tickets. Every series is there
// from the start. In a process that does not Run, sse_leased stays 0.
func (l *Live) Collectors() ([]prometheus.Collector, error) {
	hub, err := sseprom.New(l.hub, sseprom.Config{})
	if err != nil {
		return nil, err
	}
	return []prometheus.Collector{hub, l.outcomes}, nil
}
