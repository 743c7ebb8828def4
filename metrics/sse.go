package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/sse"
)

func newSSE(hub *sse.Hub) (prometheus.Collector, error) {
	if hub == nil {
		return nil, errors.New("metrics: the hub is nil; make one with sse.New")
	}
	c := &statsCollector[sse.Stats]{prefix: "millrace_sse_", stats: hub.Stats}
	c.gauge("streams", "Streams that are open.", func(s sse.Stats) float64 { return float64(s.Streams) })
	c.gauge("members", "Members who have a stream.", func(s sse.Stats) float64 { return float64(s.Members) })
	c.gauge("rooms", "Rooms with somebody in.", func(s sse.Stats) float64 { return float64(s.Rooms) })
	c.gauge("leased", "1 while streams can be opened, as far as the cap goes.", func(s sse.Stats) float64 { return oneIf(s.Leased) })
	c.gauge("hearing", "1 while events of all processes are heard.", func(s sse.Stats) float64 { return oneIf(s.Hearing) })
	c.count("opened_total", "Streams that were opened.", func(s sse.Stats) int64 { return s.Opened })
	c.countBy("ended_total", "Streams that ended.", "reason", map[string]func(sse.Stats) int64{
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
	c.count("victims_total", "Streams of any process that gave way to one opened here.", func(s sse.Stats) int64 { return s.Victims })
	c.countBy("refused_total", "Requests without a stream.", "reason", map[string]func(sse.Stats) int64{
		"outage":  func(s sse.Stats) int64 { return s.Outages },
		"evicted": func(s sse.Stats) int64 { return s.Evictions },
	})
	c.countBy("events_total", "Events for streams.", "outcome", map[string]func(sse.Stats) int64{
		"sent":      func(s sse.Stats) int64 { return s.Sent },
		"muted":     func(s sse.Stats) int64 { return s.Muted },
		"duplicate": func(s sse.Stats) int64 { return s.Duplicates },
		"replayed":  func(s sse.Stats) int64 { return s.Replayed },
	})
	c.count("writes_total", "Writes to clients.", func(s sse.Stats) int64 { return s.Writes })
	c.count("written_bytes_total", "Bytes written to clients.", func(s sse.Stats) int64 { return s.Written })
	c.countBy("published_total", "Messages to the broker.", "outcome", map[string]func(sse.Stats) int64{
		"published": func(s sse.Stats) int64 { return s.Published - s.Dropped },
		"dropped":   func(s sse.Stats) int64 { return s.Dropped },
	})
	c.count("gaps_total", "Times that the broker may have lost messages.", func(s sse.Stats) int64 { return s.Gaps })
	c.count("ghosts_total", "Entries without a stream that were removed.", func(s sse.Stats) int64 { return s.Ghosts })
	c.count("left_over_total", "Entries that wait for the end of their lifetime.", func(s sse.Stats) int64 { return s.LeftOver })
	c.count("store_errors_total", "Calls of the cap that failed.", func(s sse.Stats) int64 { return s.Errors })
	return c, nil
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
