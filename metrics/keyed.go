package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/ratelimit/keyed"
)

func newKeyed(limiter *keyed.Limiter) (prometheus.Collector, error) {
	if limiter == nil {
		return nil, errors.New("metrics: the limiter is nil; make one with keyed.New")
	}
	c := &statsCollector[keyed.Stats]{prefix: "millrace_keyed_limiter_", stats: limiter.Stats}
	c.countBy("calls_total", "Calls of keys that this process decided, by result.", "result", map[string]func(keyed.Stats) int64{
		"allowed": func(s keyed.Stats) int64 { return s.Taken },
		"refused": func(s keyed.Stats) int64 { return s.Refused },
	})
	c.count("alone_total", "Those calls that this process decided without the shared store.", func(s keyed.Stats) int64 { return s.Alone })
	return c, nil
}
