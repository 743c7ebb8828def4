package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/sse"
)

// sseCollector is a [prometheus.Collector] of one hub.
type sseCollector struct {
	hub    *sse.Hub
	series []sseSeries
}

var _ prometheus.Collector = (*sseCollector)(nil)

// sseSeries is one series, and how it is read.
type sseSeries struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	label []string
	read  func(sse.Stats) float64
}

func newSSE(hub *sse.Hub) (prometheus.Collector, error) {
	if hub == nil {
		return nil, errors.New("metrics: the hub is nil; make one with sse.New")
	}
	c := &sseCollector{hub: hub}
	gauge := func(name, help string, read func(sse.Stats) float64) {
		desc := prometheus.NewDesc("millrace_sse_"+name, help, nil, nil)
		c.series = append(c.series, sseSeries{desc: desc, kind: prometheus.GaugeValue, read: read})
	}
	counter := func(name, help string, read func(sse.Stats) int64) {
		desc := prometheus.NewDesc("millrace_sse_"+name, help, nil, nil)
		c.series = append(c.series, sseSeries{desc: desc, kind: prometheus.CounterValue, read: func(s sse.Stats) float64 { return float64(read(s)) }})
	}
	by := func(name, help, label string, reads map[string]func(sse.Stats) int64) {
		desc := prometheus.NewDesc("millrace_sse_"+name, help, []string{label}, nil)
		for value, read := range reads {
			c.series = append(c.series, sseSeries{
				desc: desc, kind: prometheus.CounterValue, label: []string{value},
				read: func(s sse.Stats) float64 { return float64(read(s)) },
			})
		}
	}
	gauge("streams", "Streams that are open.", func(s sse.Stats) float64 { return float64(s.Streams) })
	gauge("members", "Members who have a stream.", func(s sse.Stats) float64 { return float64(s.Members) })
	gauge("rooms", "Rooms with somebody in.", func(s sse.Stats) float64 { return float64(s.Rooms) })
	gauge("leased", "1 while streams can be opened, as far as the cap goes.", func(s sse.Stats) float64 { return oneIf(s.Leased) })
	gauge("hearing", "1 while events of all processes are heard.", func(s sse.Stats) float64 { return oneIf(s.Hearing) })
	counter("opened_total", "Streams that were opened.", func(s sse.Stats) int64 { return s.Opened })
	by("ended_total", "Streams that ended.", "reason", map[string]func(sse.Stats) int64{
		"gone":     func(s sse.Stats) int64 { return s.Ended.Gone },
		"slow":     func(s sse.Stats) int64 { return s.Ended.Slow },
		"evicted":  func(s sse.Stats) int64 { return s.Ended.Evicted },
		"expired":  func(s sse.Stats) int64 { return s.Ended.Expired },
		"drained":  func(s sse.Stats) int64 { return s.Ended.Drained },
		"outage":   func(s sse.Stats) int64 { return s.Ended.Outage },
		"lost":     func(s sse.Stats) int64 { return s.Ended.Lost },
		"unsynced": func(s sse.Stats) int64 { return s.Ended.Unsynced },
		"refused":  func(s sse.Stats) int64 { return s.Ended.Refused },
	})
	counter("victims_total", "Streams of any process that gave way to one opened here.", func(s sse.Stats) int64 { return s.Victims })
	by("refused_total", "Requests without a stream.", "reason", map[string]func(sse.Stats) int64{
		"outage":  func(s sse.Stats) int64 { return s.Outages },
		"evicted": func(s sse.Stats) int64 { return s.Evictions },
	})
	by("events_total", "Events for streams.", "outcome", map[string]func(sse.Stats) int64{
		"sent":      func(s sse.Stats) int64 { return s.Sent },
		"muted":     func(s sse.Stats) int64 { return s.Muted },
		"duplicate": func(s sse.Stats) int64 { return s.Duplicates },
		"replayed":  func(s sse.Stats) int64 { return s.Replayed },
	})
	counter("writes_total", "Writes to clients.", func(s sse.Stats) int64 { return s.Writes })
	counter("written_bytes_total", "Bytes written to clients.", func(s sse.Stats) int64 { return s.Written })
	by("published_total", "Messages to the broker.", "outcome", map[string]func(sse.Stats) int64{
		"published": func(s sse.Stats) int64 { return s.Published - s.Dropped },
		"dropped":   func(s sse.Stats) int64 { return s.Dropped },
	})
	counter("gaps_total", "Times that the broker may have lost messages.", func(s sse.Stats) int64 { return s.Gaps })
	counter("ghosts_total", "Entries without a stream that were removed.", func(s sse.Stats) int64 { return s.Ghosts })
	counter("left_over_total", "Entries that wait for the end of their lifetime.", func(s sse.Stats) int64 { return s.LeftOver })
	counter("store_errors_total", "Calls of the cap that failed.", func(s sse.Stats) int64 { return s.Errors })
	return c, nil
}

// Describe implements [prometheus.Collector].
func (c *sseCollector) Describe(out chan<- *prometheus.Desc) {
	for _, m := range c.series {
		out <- m.desc
	}
}

// Collect implements [prometheus.Collector].
func (c *sseCollector) Collect(out chan<- prometheus.Metric) {
	stats := c.hub.Stats()
	for _, m := range c.series {
		out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(stats), m.label...)
	}
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
