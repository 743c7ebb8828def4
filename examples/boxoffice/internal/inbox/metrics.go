package inbox

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Stats are the counters of an Inbox of this process since it was made.
type Stats struct {
	Sent    int64 // live sends that the streams took
	Failed  int64 // live sends, and changes of mute, that they refused: not retried
	Dropped int64 // live sends that were not tried: too late to be news
	Deleted int64 // notifications that were too old to keep
}

type counts struct{ sent, failed, dropped, deleted atomic.Int64 }

// Stats returns the counts.
func (i *Inbox) Stats() Stats {
	c := &i.counts
	return Stats{Sent: c.sent.Load(), Failed: c.failed.Load(), Dropped: c.dropped.Load(), Deleted: c.deleted.Load()}
}

var (
	liveDesc    = prometheus.NewDesc("notification_live_total", "Notifications for the live streams, by what came of them.", []string{"result"}, nil)
	deletedDesc = prometheus.NewDesc("notification_deleted_total", "Notifications that were deleted because of their age.", nil, nil)
)

// Collector is the metrics for a prometheus.Registerer. Every series is there from
// the start.
func (i *Inbox) Collector() prometheus.Collector { return &collector{i} }

type collector struct{ inbox *Inbox }

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(c, ch)
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s := c.inbox.Stats()
	for result, n := range map[string]int64{"sent": s.Sent, "failed": s.Failed, "dropped": s.Dropped} {
		ch <- prometheus.MustNewConstMetric(liveDesc, prometheus.CounterValue, float64(n), result)
	}
	ch <- prometheus.MustNewConstMetric(deletedDesc, prometheus.CounterValue, float64(s.Deleted))
}
