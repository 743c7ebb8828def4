package faulttest

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/sqltx"
)

const (
	keys      = 20
	writers   = 4
	perSecond = 200 // of all writers together
	// settleLimit bounds the time until all events are handled after the last fault
	// has ended.
	settleLimit = 90 * time.Second
)

// flow is the whole way of an event: appended, published, handled.
type flow struct {
	t       *testing.T
	db      database
	url     string       // of the transport
	schemes []bus.Scheme // of it
	topic   string

	outbox *outbox.Outbox
	log    *slog.Logger

	run  context.Context
	stop context.CancelFunc
	work sync.WaitGroup // relays and consumers

	writing     context.Context
	stopWriting context.CancelFunc
	writes      sync.WaitGroup
}

// start makes the tables and runs writers, two relays and two consumers.
func start(t *testing.T, db database, schemes []bus.Scheme, url string) *flow {
	t.Helper()
	f := &flow{
		t: t, db: db, url: url, schemes: schemes, topic: "flow-" + uuid.NewString()[:8],
		log: logger(),
	}
	f.must(db.schema(t.Context()))
	var err error
	f.outbox, err = outbox.New(db.store, outbox.Config{Topic: f.topic, Logger: f.log})
	f.must(err)
	f.run, f.stop = context.WithCancel(context.Background())
	f.writing, f.stopWriting = context.WithCancel(context.Background())
	t.Cleanup(f.end)

	b := f.bus()
	f.must(b.Declare(t.Context(), bus.Topic{Name: f.topic, Partitions: 6, Groups: []string{"effects"}}))
	for range 2 {
		f.relay(f.bus())
	}
	for range 2 {
		f.consumer(f.run)
	}
	for w := range writers {
		f.writes.Go(func() { f.write(w) })
	}
	f.handles(1) // all of it works before anything is broken
	return f
}

func (f *flow) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// bus opens the transport once more, as another process would.
func (f *flow) bus() *bus.Bus {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 30*time.Second)
	defer cancel()
	b, err := bus.Open(ctx, f.url, f.schemes...)
	f.must(err)
	f.t.Cleanup(func() {
		if err := b.Close(); err != nil {
			f.t.Errorf("close the bus: %v", err)
		}
	})
	return b
}

func (f *flow) relay(b *bus.Bus) {
	relay, err := outbox.NewRelay(f.db.store, b.Publisher(), outbox.RelayConfig{
		Logger: f.log, LeaseTTL: 3 * time.Second, Classifiers: []fault.Classifier{f.db.classify},
		Pause: outbox.Backoff{Initial: 100 * time.Millisecond, Max: time.Second},
		Retry: outbox.Backoff{Initial: 100 * time.Millisecond, Max: time.Second},
	})
	f.must(err)
	f.work.Go(func() {
		if err := relay.Run(f.run); err != nil {
			f.t.Errorf("the relay ended: %v", err)
		}
	})
}

// consumer runs one instance of the group until ctx ends.
func (f *flow) consumer(ctx context.Context) {
	runner, err := bus.NewRunner(f.bus(), bus.RunnerConfig{Logger: f.log, DrainTimeout: 10 * time.Second})
	f.must(err)
	keep, err := sqlidempotency.New(f.db.pool, sqlidempotency.Config{Dialect: f.db.dialect})
	f.must(err)
	guard, err := idempotency.New[*sql.Tx](keep, idempotency.Config{Group: "effects"})
	f.must(err)
	f.must(runner.Add(bus.Consumer{
		Topic: f.topic, Group: "effects",
		Handler: bus.Handle(func(ctx context.Context, e event.Event) error {
			_, err := guard.Do(ctx, e, func(ctx context.Context, tx *sql.Tx) error { return f.db.effect(ctx, tx, e) })
			return err
		}),
		Retry: bus.RetryPolicy{
			// Short: a fault that is taken for the message's own makes a dead letter
			// at once, and the audit misses its effect.
			Backoff: bus.Backoff{Initial: 100 * time.Millisecond, Max: time.Second, Multiplier: 2},
			Probe:   bus.Backoff{Initial: 100 * time.Millisecond, Max: time.Second, Multiplier: 2},
		},
		Classifiers: []fault.Classifier{f.db.classify},
	}))
	f.work.Go(func() {
		if err := runner.Run(ctx); err != nil {
			f.t.Errorf("a consumer ended: %v", err)
		}
	})
}

// write appends events until writing stops. A key's events are numbered in the
// transaction that appends them, under the lock of the key's row. The database
// shows the outcome of a commit whose answer was lost.
func (f *flow) write(seed int) {
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	tick := time.NewTicker(time.Second * writers / perSecond)
	defer tick.Stop()
	for {
		select {
		case <-f.writing.Done():
			return
		case <-tick.C:
		}
		key := random.IntN(keys)
		// A commit in flight is not cut short when writing stops: the server could
		// still carry it out, after the last count.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(f.writing), 5*time.Second)
		err := sqltx.Do(ctx, f.db.pool, func(ctx context.Context, tx *sql.Tx) error {
			n, err := f.db.next(ctx, tx, key)
			if err != nil {
				return err
			}
			id, err := uuid.NewV7()
			if err != nil {
				return err
			}
			return f.outbox.Append(ctx, tx, event.Event{
				ID: id.String(), Type: "Numbered", Source: "faulttest", Time: time.Now(),
				AggregateType: "counter", AggregateID: fmt.Sprint(key), Sequence: uint64(n), Version: "v1",
			})
		})
		cancel()
		if err != nil && f.writing.Err() == nil && f.db.classify(err) == fault.Permanent {
			f.t.Errorf("write: %v", err)
			return
		}
	}
}

// handles waits until n more events are handled.
func (f *flow) handles(n int) {
	f.t.Helper()
	want := n
	if have, err := f.db.handled(f.t.Context()); err == nil {
		want += have
	}
	f.until(settleLimit, fmt.Sprintf("%d events handled", want), func(ctx context.Context) (bool, error) {
		have, err := f.db.handled(ctx)
		return have >= want, err
	})
}

// until asks, 20 times a second, until the answer is yes. The database may be
// unreachable meanwhile.
func (f *flow) until(limit time.Duration, what string, done func(context.Context) (bool, error)) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), limit)
	defer cancel()
	for {
		ok, err := done(ctx)
		if ok && err == nil {
			return
		}
		select {
		case <-ctx.Done():
			f.t.Fatalf("%s: not within %s (%v)", what, limit, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// recovered measures from now, the end of a fault, until all events committed by
// now have had their effect.
func (f *flow) recovered(what string) {
	f.t.Helper()
	began := time.Now()
	var committed int
	f.until(settleLimit, "count the events", func(ctx context.Context) (ok bool, err error) {
		committed, err = f.db.committed(ctx)
		return err == nil, err
	})
	f.until(settleLimit, fmt.Sprintf("%d events handled after %s", committed, what), func(ctx context.Context) (bool, error) {
		have, err := f.db.handled(ctx)
		return have >= committed, err
	})
	f.t.Logf("recovered from %s after %s", what, time.Since(began).Round(10*time.Millisecond))
}

// check stops the writers, waits until all is handled, and asks the questions.
func (f *flow) check() {
	f.t.Helper()
	f.stopWriting()
	f.writes.Wait()
	f.recovered("everything")
	f.end()
	ctx := f.t.Context()
	committed, err := f.db.committed(ctx)
	f.must(err)
	if committed < 50 {
		f.t.Errorf("only %d events were committed: the flow hardly ran", committed)
	}
	problems, err := f.db.audit(ctx)
	f.must(err)
	for _, p := range problems {
		f.t.Error(p)
	}
	f.t.Logf("%d events committed, %d problems", committed, len(problems))
}

func (f *flow) end() {
	f.stopWriting()
	f.writes.Wait()
	f.stop()
	f.work.Wait()
}
