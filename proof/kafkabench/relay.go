package kafkabench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/proof/backlog"
	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/report"
)

// Relay is the configuration for a publisher that makes batches of its own: few calls,
// each of them large.
func Relay() outbox.RelayConfig {
	return outbox.RelayConfig{Lanes: 2, Chunk: 5000, MinBatch: 5000, MaxBatch: 10_000}
}

// keys that events are spread over.
const keys = 1000

// outboxed is an outbox with a backlog of events, which can be relayed again and
// again.
type outboxed struct {
	db    *sql.DB
	store driver.SQLStore
	rows  int
}

// fill makes the schema afresh with a backlog.
func fill(ctx context.Context, p place.Place, cfg Config) (_ *outboxed, err error) {
	db, err := p.Fresh(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("fill: %w", err), db.Close())
		}
	}()
	store, err := pgoutbox.New(db, pgoutbox.Config{})
	if err != nil {
		return nil, err
	}
	if err := backlog.Fill(ctx, db, store, cfg.Rows, keys, backlog.Payment(cfg.Size)); err != nil {
		return nil, err
	}
	return &outboxed{db, store, cfg.Rows}, p.Settle(ctx)
}

func (o *outboxed) close() error { return o.db.Close() }

// drain relays the backlog from its first event to its last.
func (o *outboxed) drain(ctx context.Context, into message.Publisher) error {
	relay, err := outbox.NewRelay(o.store, into, Relay())
	if err != nil {
		return err
	}
	return relay.Drain(ctx)
}

// rewind resets the relay to the first event, by removing its cursor.
func (o *outboxed) rewind(ctx context.Context) error {
	_, err := o.db.ExecContext(ctx, `DELETE FROM outbox_cursors`)
	return err
}

// relay measures a drain, from the relay's start to its end, when the cursor is
// behind the last event.
func (o *outboxed) relay(ctx context.Context, into message.Publisher) (report.Pace, error) {
	if err := o.rewind(ctx); err != nil {
		return report.Pace{}, err
	}
	return timed(o.rows, func() error { return o.drain(ctx, into) })
}

// inMemory are the first n messages, exactly as the relay publishes them.
func (o *outboxed) inMemory(ctx context.Context, n int) ([]*message.Message, error) {
	if err := o.rewind(ctx); err != nil {
		return nil, err
	}
	var k keeper
	if err := o.drain(ctx, &k); err != nil {
		return nil, err
	}
	if len(k.messages) != o.rows {
		return nil, fmt.Errorf("the relay published %d of %d events", len(k.messages), o.rows)
	}
	return k.messages[:n], nil
}

// into publishes everything to one topic.
type into struct {
	message.Publisher
	topic string
}

func (i into) Publish(_ string, messages ...*message.Message) error {
	return i.Publisher.Publish(i.topic, messages...)
}

// keeper is a publisher that keeps its messages.
type keeper struct {
	mu       sync.Mutex
	messages []*message.Message
}

func (k *keeper) Publish(_ string, messages ...*message.Message) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.messages = append(k.messages, messages...)
	return nil
}

func (*keeper) Close() error { return nil }
