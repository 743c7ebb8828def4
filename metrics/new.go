package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/keyed"
	"github.com/millrace-go/millrace/sse"
)

// New creates a collector of a coalescer, a counter, a rate limiter, a keyed limiter or a hub of
// streams; the caller registers it. A scrape reads the counts of the part in memory, and does
// not call its store. The series of a counter have its name as a label, so counters of different
// names can be in one registry.
func New[Part *coalesce.Coalescer | *counter.Counter | *ratelimit.Limiter | *keyed.Limiter | *sse.Hub](part Part) (prometheus.Collector, error) {
	switch p := any(part).(type) {
	case *coalesce.Coalescer:
		return newCoalesce(p)
	case *counter.Counter:
		return newCounter(p)
	case *ratelimit.Limiter:
		return newRateLimit(p)
	case *keyed.Limiter:
		return newKeyed(p)
	default:
		return newSSE(any(part).(*sse.Hub))
	}
}
