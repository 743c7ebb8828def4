package kafkabench

import (
	"context"
	"fmt"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bench/backlog"
	"github.com/millrace-go/millrace/bench/place"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
)

// Relay is the configuration for publishing to Kafka: calls so large that a
// whole batch is with the client at once, which cuts it by partitions.
func Relay() outbox.RelayConfig { return outbox.RelayConfig{Chunk: 500} }

// keys that events are spread over.
const keys = 1000

// fill makes the schema afresh with a backlog of n events.
func fill(ctx context.Context, p place.Place, cfg Config, n int) error {
	if err := p.Recreate(ctx); err != nil {
		return err
	}
	db, err := p.Open()
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // its work is committed
	store, err := pgoutbox.New(db, pgoutbox.Config{})
	if err != nil {
		return err
	}
	if err := store.Migrate(ctx); err != nil {
		return err
	}
	box, err := outbox.New(store, outbox.Config{Topic: "payment.events"})
	if err != nil {
		return err
	}
	if err := backlog.Append(ctx, db, box, n, keys, backlog.Payment(cfg.Size)); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	return p.Settle(ctx)
}

// drain relays the backlog.
func drain(ctx context.Context, p place.Place, into message.Publisher, cfg outbox.RelayConfig) error {
	db, err := p.Open()
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the relay has stopped
	store, err := pgoutbox.New(db, pgoutbox.Config{})
	if err != nil {
		return err
	}
	relay, err := outbox.NewRelay(store, into, cfg)
	if err != nil {
		return err
	}
	return relay.Drain(ctx)
}

// relay publishes a backlog to Kafka, from the relay's start, which connects to
// the database, to its end, when the cursor is behind the last event.
func (c *cluster) relay(ctx context.Context, p place.Place, cfg Config, topic string) (result, error) {
	if err := fill(ctx, p, cfg, cfg.Rows); err != nil {
		return result{}, err
	}
	return timed(cfg.Rows, func() error { return drain(ctx, p, into{c.bus.Publisher(), topic}, Relay()) })
}

// into publishes everything to one topic.
type into struct {
	message.Publisher
	topic string
}

func (i into) Publish(_ string, messages ...*message.Message) error {
	return i.Publisher.Publish(i.topic, messages...)
}

// keeper is a publisher that keeps what it is given.
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
