package chat

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Stats are the gauges and counters of a Chat of this process; their JSON is in the
// operator's report.
type Stats struct {
	Sockets int `json:"sockets"` // open now
	Rooms   int `json:"rooms"`   // with an open socket
	Waiting int `json:"backlog"` // events that wait for the live streams now

	Sent     int64 `json:"sent"` // messages accepted
	Stored   int64 `json:"stored"`
	ToldLive int64 `json:"toldLive"` // events that the live streams took
	Dropped  int64 `json:"dropped"`  // events for live streams that were not sent for lack of room
	Failed   int64 `json:"failed"`   // tries to store a message that came to nothing

	DeadLettered int64 `json:"deadLettered"` // messages that a worker gave up

	Unsent int64 `json:"-"` // events, joins and leaves that the live streams refused
	Slow   int64 `json:"-"` // sockets that were cut because they did not read
	Unrung int64 `json:"-"` // bells that the broker did not take
}

type counts struct {
	sent, stored, failed, deadLettered, toldLive, dropped, unsent, slow, unrung atomic.Int64
}

// Stats returns the figures of this process.
func (c *Chat) Stats() Stats {
	n := c.counts
	s := Stats{
		Waiting: len(c.alerts.queue),
		Sent:    n.sent.Load(), Stored: n.stored.Load(), Failed: n.failed.Load(), DeadLettered: n.deadLettered.Load(),
		ToldLive: n.toldLive.Load(), Dropped: n.dropped.Load(), Unsent: n.unsent.Load(),
		Slow: n.slow.Load(), Unrung: n.unrung.Load(),
	}
	s.Sockets, s.Rooms = c.Sockets.feeds.open()
	return s
}

var (
	socketsDesc  = prometheus.NewDesc("chat_sockets", "Open sockets.", nil, nil)
	roomsDesc    = prometheus.NewDesc("chat_rooms", "Rooms with an open socket.", nil, nil)
	backlogDesc  = prometheus.NewDesc("chat_live_backlog", "Events that wait for the live streams.", nil, nil)
	messagesDesc = prometheus.NewDesc("chat_messages_total", "Messages, by what came of them; failed are tries to store one.", []string{"result"}, nil)
	liveDesc     = prometheus.NewDesc("chat_live_total", "Events for the live streams, by what came of them.", []string{"result"}, nil)
	slowDesc     = prometheus.NewDesc("chat_slow_sockets_total", "Sockets that were cut because their clients did not read.", nil, nil)
	unrungDesc   = prometheus.NewDesc("chat_lost_bells_total", "Bells that the broker did not take.", nil, nil)
)

// Collector is the metrics for a prometheus.Registerer. Every series is there from
// the start.
func (c *Chat) Collector() prometheus.Collector { return &collector{c} }

type collector struct{ chat *Chat }

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(c, ch)
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s := c.chat.Stats()
	for d, n := range map[*prometheus.Desc]int{socketsDesc: s.Sockets, roomsDesc: s.Rooms, backlogDesc: s.Waiting} {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n))
	}
	count := func(d *prometheus.Desc, n int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	for result, n := range map[string]int64{"accepted": s.Sent, "stored": s.Stored, "failed": s.Failed, "dead_lettered": s.DeadLettered} {
		count(messagesDesc, n, result)
	}
	for result, n := range map[string]int64{"sent": s.ToldLive, "failed": s.Unsent, "dropped": s.Dropped} {
		count(liveDesc, n, result)
	}
	count(slowDesc, s.Slow)
	count(unrungDesc, s.Unrung)
}
