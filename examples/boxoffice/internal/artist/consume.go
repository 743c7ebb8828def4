package artist

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/event"
)

// WorkerConfig of a [Worker]. The zero value works.
type WorkerConfig struct {
	// HighBatch is how many artists of high priority share a write; 20 when zero. A batch is
	// as slow as its slowest call.
	HighBatch int
	// HighBatches is how many of these batches run at once; 8 when zero. Batch times batches
	// is how many calls can: 160 and, of low priority, 200 carry 450 calls/s of 0.8 s each.
	// Each costs some 50 KB.
	HighBatches int
	// HoldAbove is how far high may be behind before low gives way; 1,000 when zero.
	HoldAbove int
	// WriteTimeout is how slow a write of a batch may be before the database counts as
	// down; 3 s when zero.
	WriteTimeout time.Duration
	// BreakerOpen is how long the breaker before the database stays open before it lets one
	// call through; 5 s when zero. It adds to the time until consumers resume after an
	// outage.
	BreakerOpen time.Duration
	// Retry of 5xx and lost calls; 3 times after 1, 2 and 4 s when zero.
	Retry bus.RetryPolicy
}

const (
	lowBatch   = 100
	lowBatches = 2
	// highWait and lowWait are how long a batch that is not full waits for more.
	highWait = 20 * time.Millisecond
	lowWait  = 100 * time.Millisecond
	// poisonFor is how long reads and prefetch do not ask for an artist that failed for
	// good.
	poisonFor = 10 * time.Minute
)

func (c WorkerConfig) validate() error {
	if min(c.HighBatch, c.HighBatches, c.HoldAbove) < 0 || min(c.WriteTimeout, c.BreakerOpen) < 0 {
		return errors.New("artist: HighBatch, HighBatches, HoldAbove, WriteTimeout and BreakerOpen must not be negative; use 0 for the defaults")
	}
	return nil
}

func (c WorkerConfig) withDefaults() WorkerConfig {
	c.HighBatch = cmp.Or(c.HighBatch, 20)
	c.HighBatches = cmp.Or(c.HighBatches, 8)
	c.HoldAbove = cmp.Or(c.HoldAbove, 1000)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 3*time.Second)
	c.BreakerOpen = cmp.Or(c.BreakerOpen, 5*time.Second)
	c.Retry = cmp.Or(c.Retry, bus.DefaultRetry())
	return c
}

// Topics declares the topics that must exist before the first request.
func Topics() []bus.Topic {
	return []bus.Topic{
		{Name: TopicHigh, Partitions: 24, Groups: []string{GroupHigh}, Retention: 24 * time.Hour},
		{Name: TopicLow, Partitions: 24, Groups: []string{GroupLow}, Retention: 72 * time.Hour},
		{Name: DeadLetters, Partitions: 12, Groups: []string{driver.RedriveGroup}, Retention: 7 * 24 * time.Hour},
	}
}

// Pair returns the two consumers for a bus.Runner. Low gives way while high is
// behind, by lag; nil makes the runner keep a monitor of its own.
func (w *Worker) Pair(lag *bus.LagMonitor) bus.Pair {
	consumer := func(p event.Priority, topic, group string, size, batches int, wait time.Duration) bus.BatchConsumer {
		return bus.BatchConsumer{
			Topic: topic, Group: group,
			Handler: bus.HandleBatch(w.handle(p), UpdateRequest),
			Size:    size, Wait: wait, Concurrency: batches,
			Retry:      w.cfg.Retry,
			DeadLetter: DeadLetters,
			Current:    w.m.coalescer.Sequence,
			Hooks: bus.Hooks{
				OnObsolete:   func(bus.Report) { w.m.skipped() },
				OnDeadLetter: w.buried,
			},
		}
	}
	return bus.Pair{
		High:      consumer(event.High, TopicHigh, GroupHigh, w.cfg.HighBatch, w.cfg.HighBatches, highWait),
		Low:       consumer(event.Low, TopicLow, GroupLow, lowBatch, lowBatches, lowWait),
		HoldAbove: w.cfg.HoldAbove,
		Lag:       lag,
	}
}

// skipped counts a request that a newer one made obsolete.
func (m *Mirror) skipped() {
	m.metrics.count(func(s *Stats) { s.Obsolete++ })
	m.coalescer.Skipped()
}

// buried records that nothing more is tried, and lets the next request begin a new
// run. Both may fail: the row then says RETRYING with a time that has passed, and the
// lock expires.
func (w *Worker) buried(d bus.Report) {
	e, err := event.Decode(d.Message)
	if err != nil || e.AggregateID == "" {
		return // it never was a request
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	if d.Reason == API5XX || d.Reason == bus.ReasonExhausted || d.Reason == bus.ReasonPanic || d.Reason == bus.ReasonCrashed {
		err := w.guard.do(ctx, func(ctx context.Context) error {
			return w.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, w.m.sql.GaveUp, e.AggregateID, poisonFor.Milliseconds())
				return err
			})
		})
		if err != nil {
			w.m.cfg.Logger.Warn("a refresh was given up and its status not written", "artist", e.AggregateID, "error", err)
		}
	}
	if _, err := w.m.coalescer.Release(ctx, e.AggregateID, coalesce.Priority(e.Priority), int64(e.Sequence)); err != nil {
		w.m.metrics.count(func(s *Stats) { s.Unsettled++ })
	}
}
