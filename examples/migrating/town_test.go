package migrating_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/migrating"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) {
	// Sarama's metrics leave one goroutine for the whole process.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

const orders = "order.events"

// step is the data of an event: the n-th of its key.
type step struct {
	Key string `json:"key"`
	N   int    `json:"n"`
}

// heard is a publisher that keeps the published messages: it is the broker and
// its consumers in one.
type heard struct {
	mu    sync.Mutex
	steps []step
	ids   map[string]bool
	wrong []string
	more  chan struct{} // closed by the next publish
}

func listen() *heard { return &heard{ids: map[string]bool{}, more: make(chan struct{})} }

func (h *heard) Publish(to string, messages ...*message.Message) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range messages {
		var s step
		// The parts that a consumer of the old messages reads.
		if err := json.Unmarshal(m.Payload, &s); err != nil || to != orders || m.Metadata.Get("event_type") != "OrderMoved" || m.Metadata.Get("partitionkey") != s.Key {
			h.wrong = append(h.wrong, fmt.Sprintf("%s: %v %q (%v)", to, m.Metadata, m.Payload, err))
		}
		if !h.ids[m.UUID] { // a repetition is no news
			h.ids[m.UUID] = true
			h.steps = append(h.steps, s)
		}
	}
	close(h.more)
	h.more = make(chan struct{})
	return nil
}

func (h *heard) Close() error { return nil }

func (h *heard) count() int {
	n, _ := h.so()
	return n
}

// so returns the number of published events, and a channel that closes at the
// next one.
func (h *heard) so() (int, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.steps), h.more
}

// until waits for n events.
func (h *heard) until(ctx context.Context, n int) error {
	for {
		got, more := h.so()
		if got >= n {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d events were published: %w", got, n, context.Cause(ctx))
		}
	}
}

// judge lists the events that are lost or out of order; committed is the last
// number of each key in the database.
func (h *heard) judge(committed map[string]int) (wrong []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	wrong = append(wrong, h.wrong...)
	last := map[string]int{}
	for _, s := range h.steps {
		if s.N != last[s.Key]+1 {
			wrong = append(wrong, fmt.Sprintf("%s: %d came after %d", s.Key, s.N, last[s.Key]))
		}
		last[s.Key] = s.N
	}
	for key, n := range committed {
		if last[key] != n {
			wrong = append(wrong, fmt.Sprintf("%s: %d was published last, %d is committed", key, last[key], n))
		}
	}
	return wrong
}

// town is an application during its move.
type town struct {
	db    *sql.DB
	turns migrating.Switch
	store driver.Store
	box   *outbox.Outbox
	to    *heard
	old   func(context.Context, *sql.Tx, *message.Message) error // writes to the old side
	// apart: no two writers use the same key, for an old side that does not keep
	// the order of such writers. Watermill-sql reads by transaction ids, which
	// PostgreSQL assigns before a writer waits for the key's row.
	apart bool
}

const keys = 8

// found makes the tables that do not differ between the sides.
func (w *town) found(ctx context.Context) error {
	if err := w.turns.Make(ctx, w.db); err != nil {
		return err
	}
	if _, err := w.db.ExecContext(ctx, `CREATE TABLE orders (key TEXT PRIMARY KEY, n INTEGER NOT NULL)`); err != nil {
		return err
	}
	for i := range keys {
		if _, err := w.db.ExecContext(ctx, `INSERT INTO orders VALUES ($1, 0)`, fmt.Sprint("order-", i)); err != nil {
			return err
		}
	}
	box, err := outbox.New(w.store, outbox.Config{Topic: orders, Encode: migrating.Wire{}.Encode})
	w.box = box
	return err
}

// write moves an order in a transaction of its own, on the side of the switch.
func (w *town) write(ctx context.Context, key string) error {
	return sqltx.Do(ctx, w.db, func(ctx context.Context, tx *sql.Tx) error {
		side, err := w.turns.Side(ctx, tx)
		if err != nil {
			return err
		}
		return w.move(ctx, tx, key, side)
	})
}

func (w *town) move(ctx context.Context, tx *sql.Tx, key string, side migrating.Side) error {
	s := step{Key: key}
	if err := tx.QueryRowContext(ctx, `UPDATE orders SET n = n + 1 WHERE key = $1 RETURNING n`, key).Scan(&s.N); err != nil {
		return err
	}
	e, err := event.New("OrderMoved", "shop", s)
	if err != nil {
		return err
	}
	e.PartitionKey = key
	if side == migrating.New {
		return w.box.Append(ctx, tx, e)
	}
	m, err := migrating.Wire{}.Encode(e)
	if err != nil {
		return err
	}
	return w.old(ctx, tx, m)
}

// ahead is how many events writers may be ahead while no relay publishes.
const ahead = 60

// writers write until stop is called; stop returns their errors.
func (w *town) writers(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	failed := make(chan error, keys)
	var written atomic.Int64
	for i := range keys {
		go func() {
			var err error
			for n := i; err == nil; n++ {
				if w.to.until(ctx, int(written.Add(1))-ahead) != nil || ctx.Err() != nil {
					break // stopped
				}
				key := n % keys
				if w.apart {
					key = i
				}
				err = w.write(context.WithoutCancel(ctx), fmt.Sprint("order-", key))
			}
			failed <- err
		}()
	}
	return func() (err error) {
		cancel()
		for range keys {
			err = errors.Join(err, <-failed)
		}
		return err
	}
}

// committed is the last number of each key.
func (w *town) committed(ctx context.Context) (map[string]int, error) {
	rows, err := w.db.QueryContext(ctx, `SELECT key, n FROM orders`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]int{}
	for rows.Next() {
		var s step
		if err := rows.Scan(&s.Key, &s.N); err != nil {
			return nil, err
		}
		out[s.Key] = s.N
	}
	return out, rows.Err()
}

// relay runs the new relay; stop ends it. With drain, stop then publishes all
// committed events.
func (w *town) relay(ctx context.Context) (stop func(drain bool) error, err error) {
	return w.relayTo(ctx, w.to)
}

// relayTo is relay with another publisher.
func (w *town) relayTo(ctx context.Context, pub message.Publisher) (stop func(drain bool) error, err error) {
	relay, err := outbox.NewRelay(w.store, pub, outbox.RelayConfig{})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- relay.Run(ctx) }()
	return func(drain bool) error {
		cancel()
		if err := <-done; err != nil || !drain {
			return err
		}
		return relay.Drain(context.WithoutCancel(ctx))
	}, nil
}
