package batchbench

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/proof/report"
)

// shows that are viewed, in turn.
const shows = 50

// deadline bounds one measurement.
const deadline = time.Minute

// work is a way to count views.
type work struct {
	guarded bool // each event once
	batch   bool
}

func (w work) String() string {
	s := "sequential"
	if w.batch {
		s = "batch"
	}
	if w.guarded {
		s += ", each once"
	}
	return s
}

// count publishes views and lets a consumer count them.
func (p prepared) count(ctx context.Context, w work, cfg Config) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	n := cfg.Single
	if w.batch {
		n = cfg.Many
	}
	topic := fmt.Sprintf("%s-views-%d", cfg.Prefix, time.Now().UnixNano())
	if _, err := p.db.ExecContext(ctx, `DELETE FROM views`); err != nil {
		return result{}, err
	}
	if err := p.publish(ctx, topic, n); err != nil {
		return result{}, fmt.Errorf("publish: %w", err)
	}
	r, err := bus.NewRunner(p.bus, bus.RunnerConfig{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return result{}, err
	}
	c := newClock(n)
	if err := r.Add(p.consumer(topic, w, c)); err != nil {
		return result{}, err
	}
	run, stop := context.WithCancel(ctx)
	defer stop()
	stopped := make(chan error, 1)
	go func() { stopped <- r.Run(run) }()
	select {
	case <-c.done:
	case err := <-stopped:
		return result{}, fmt.Errorf("the consumer ended after %d of %d views: %w", c.counted.Load(), n, err)
	}
	got, batches := result{Pace: c.pace, perBatch: 1}, r.Status()[0].Batches
	stop()
	if err := <-stopped; err != nil {
		return result{}, err
	}
	if batches > 0 {
		got.perBatch = float64(n) / float64(batches)
	}
	var counted int
	if err := p.db.QueryRowContext(ctx, `SELECT SUM(n) FROM views`).Scan(&counted); err != nil {
		return result{}, err
	}
	if counted != n {
		return result{}, fmt.Errorf("%d of %d views were counted", counted, n)
	}
	return got, nil
}

func (p prepared) publish(ctx context.Context, topic string, n int) error {
	if err := p.bus.Declare(ctx, bus.Topic{Name: topic, Groups: []string{group}}); err != nil {
		return err
	}
	messages := make([]*message.Message, 0, 1000)
	for i := range n {
		e, err := event.New("Viewed", "bench", map[string]int{"show": i % shows})
		if err != nil {
			return err
		}
		e.AggregateID = strconv.Itoa(i % shows)
		m, err := event.Structured{}.Encode(e)
		if err != nil {
			return err
		}
		if messages = append(messages, m); len(messages) == cap(messages) || i == n-1 {
			if err := p.bus.Publisher().Publish(topic, messages...); err != nil {
				return err
			}
			messages = messages[:0]
		}
	}
	return nil
}

func (p prepared) consumer(topic string, w work, c *clock) bus.AnyConsumer {
	if w.batch {
		return bus.BatchConsumer{Topic: topic, Group: group, Handler: bus.HandleBatch(func(ctx context.Context, events []event.Event) error {
			return c.handle(len(events), func() error { return p.together(ctx, events, w.guarded) })
		})}
	}
	return bus.Consumer{Topic: topic, Group: group, Handler: bus.Handle(func(ctx context.Context, e event.Event) error {
		return c.handle(1, func() error { return p.alone(ctx, e, w.guarded) })
	})}
}

func (p prepared) alone(ctx context.Context, e event.Event, guarded bool) error {
	if !guarded {
		_, err := p.db.ExecContext(ctx, p.one, e.AggregateID)
		return err
	}
	_, err := p.guard.Do(ctx, e, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, p.one, e.AggregateID)
		return err
	})
	return err
}

func (p prepared) together(ctx context.Context, events []event.Event, guarded bool) error {
	if !guarded {
		views, err := perShow(events)
		if err == nil {
			_, err = p.db.ExecContext(ctx, p.many, views)
		}
		return err
	}
	_, err := p.guard.DoBatch(ctx, events, func(ctx context.Context, tx *sql.Tx, fresh []event.Event) error {
		views, err := perShow(fresh)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, p.many, views)
		return err
	})
	return err
}

// perShow is a JSON object of how many views each show has.
func perShow(events []event.Event) (string, error) {
	counts := map[string]int{}
	for _, e := range events {
		counts[e.AggregateID]++
	}
	b, err := json.Marshal(counts)
	return string(b), err
}

// clock runs from the first handler's start to the end of the last.
type clock struct {
	counted atomic.Int64
	want    int64
	started atomic.Bool
	end     func(views int) report.Pace // set by the first, and called by the last
	pace    report.Pace                 // from then on
	done    chan struct{}
}

func newClock(n int) *clock { return &clock{want: int64(n), done: make(chan struct{})} }

func (c *clock) handle(n int, fn func() error) error {
	if !c.started.Load() && c.started.CompareAndSwap(false, true) {
		c.end = report.Begin() // read again only after the last has ended
	}
	if err := fn(); err != nil {
		return err
	}
	if c.counted.Add(int64(n)) == c.want {
		c.pace = c.end(int(c.want))
		close(c.done)
	}
	return nil
}
