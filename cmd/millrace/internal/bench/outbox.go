package bench

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/sqltx"
)

// OutboxResult is how fast an outbox was. Values that were not measured are 0, or null.
type OutboxResult struct {
	Appended  int64    `json:"appended"` // rows
	AppendPS  float64  `json:"appendPerSecond"`
	Drained   int64    `json:"drained"`
	DrainPS   float64  `json:"drainPerSecond"`
	ToPublish *Latency `json:"commitToPublish"`
}

// Outbox measures the cursor outbox in the database of a URL. With an error, the result
// holds the measurements before it.
func Outbox(ctx context.Context, rawURL string, cfg Config) (r OutboxResult, err error) {
	if err := cfg.Validate(); err != nil {
		return r, err
	}
	cfg = cfg.withDefaults()
	u, err := parsed(rawURL)
	if err != nil {
		return r, err
	}
	make := func(ctx context.Context) (*place, error) { return cfg.inDatabase(ctx, rawURL, u) }
	err = cfg.in(ctx, make, func(ctx context.Context, p *place) error {
		d, err := database.Open(p.url, true)
		if err != nil {
			return err
		}
		b, err := cfg.newBox(d)
		if err == nil {
			err = b.store.Migrate(ctx)
		}
		if err == nil {
			err = b.measure(ctx, &r)
		}
		return errors.Join(err, d.Close())
	})
	return r, err
}

// box is an outbox under measurement.
type box struct {
	Config
	db     *sql.DB
	store  driver.SQLStore
	outbox *outbox.Outbox
	data   json.RawMessage
}

func (c Config) newBox(d *database.Database) (*box, error) {
	store, err := d.Store(database.Cursor, 0)
	if err != nil {
		return nil, err
	}
	o, err := outbox.New(store, outbox.Config{Topic: c.Name, Logger: c.Logger})
	return &box{c, d.DB, store, o, json.RawMessage(`"` + strings.Repeat("x", max(c.Size-2, 0)) + `"`)}, err
}

func (b *box) measure(ctx context.Context, r *OutboxResult) error {
	b.Step("appending events")
	var err error
	start := time.Now()
	if r.Appended, err = b.fill(ctx); err == nil {
		r.AppendPS = perSecond(r.Appended, time.Since(start))
		b.Step("draining the backlog")
		err = b.drain(ctx, r)
	}
	if err == nil {
		b.Step("measuring from commit to publish")
		err = b.pace(ctx, r)
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), removing)
	defer cancel()
	return errors.Join(err, b.outbox.Close(closing))
}

const perTransaction = 10

// fill appends with several callers for the window.
func (b *box) fill(ctx context.Context) (int64, error) {
	var n atomic.Int64
	end := time.Now().Add(b.Window)
	appending, ctx := errgroup.WithContext(ctx)
	for range b.Callers {
		appending.Go(func() error {
			for time.Now().Before(end) && n.Load() < maxRows {
				if err := b.append(ctx, perTransaction); err != nil {
					return err
				}
				b.Progress(fmt.Sprintf("%d events appended", n.Add(perTransaction)))
			}
			return nil
		})
	}
	err := appending.Wait()
	return n.Load(), err
}

// append appends events in a transaction of their own. It wakes no relay, because none runs.
func (b *box) append(ctx context.Context, n int) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // no-op after the commit
	events := make([]event.Event, n)
	for i := range events {
		if events[i], err = b.event(); err != nil {
			return err
		}
	}
	if err := b.outbox.Append(ctx, tx, events...); err != nil {
		return err
	}
	return tx.Commit()
}

// keys is the number of aggregates of the events.
const keys = 1000

func (b *box) event() (event.Event, error) {
	e, err := event.New("Benchmark", "millrace-bench", b.data)
	if err == nil {
		e.AggregateType, e.AggregateID = "benchmark", keyOf(e.ID)
	}
	return e, err
}

// keyOf spreads ids over the keys.
func keyOf(id string) string {
	n, _ := strconv.ParseUint(id[max(len(id)-8, 0):], 16, 64) // the random end of a UUID; any number will do
	return strconv.FormatUint(n%keys, 10)
}

// sink is a publisher that only reports messages.
type sink func(messages []*message.Message)

func (s sink) Publish(_ string, messages ...*message.Message) error { s(messages); return nil }
func (sink) Close() error                                           { return nil }

// drain makes a relay publish the backlog, for three windows at most.
func (b *box) drain(ctx context.Context, r *OutboxResult) error {
	ctx, cancel := context.WithTimeout(ctx, 3*b.Window)
	defer cancel()
	var n atomic.Int64
	relay, err := outbox.NewRelay(b.store, sink(func(messages []*message.Message) {
		b.Progress(fmt.Sprintf("%d of %d events drained", n.Add(int64(len(messages))), r.Appended))
	}), outbox.RelayConfig{Logger: b.Logger})
	if err != nil {
		return err
	}
	start := time.Now()
	err = relay.Drain(ctx)
	r.Drained, r.DrainPS = n.Load(), perSecond(n.Load(), time.Since(start))
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil // the result is the part drained by then
	}
	return err
}

// pace appends at a steady pace beside a running relay. This machine's clock measures both
// ends of a latency.
func (b *box) pace(ctx context.Context, r *OutboxResult) error {
	var l latencies
	var committed sync.Map
	arrived := make(chan struct{}, maxRows)
	relay, err := outbox.NewRelay(b.store, sink(func(messages []*message.Message) {
		now := time.Now()
		for _, m := range messages {
			// An event may be published before its commit has returned here.
			if at, known := committed.LoadOrStore(m.UUID, now); known {
				l.add(now.Sub(at.(time.Time)))
			} else {
				l.add(0)
			}
			arrived <- struct{}{}
		}
	}), outbox.RelayConfig{Logger: b.Logger})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(running) }()
	sent, err := b.steadily(ctx, func(ctx context.Context) error {
		e, err := b.event()
		if err != nil {
			return err
		}
		err = sqltx.Do(ctx, b.db, func(ctx context.Context, tx *sql.Tx) error { return b.outbox.Append(ctx, tx, e) })
		if err == nil {
			committed.LoadOrStore(e.ID, time.Now())
		}
		return err
	})
	if err == nil {
		err = receive(ctx, arrived, sent, b.Window)
	}
	stop()
	if rerr := <-ended; err == nil {
		err = rerr
	}
	r.ToPublish = l.report()
	return err
}
