package migrating_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/components/forwarder"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/examples/migrating"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
)

// forwarded is where the forwarder's messages wait in the database.
const forwarded = "forwarded"

// undelivered is the query of docs/migrating.md: the number of messages that
// the forwarder has not acknowledged. It compares transactions and offsets, as
// the forwarder's reader does: the newest offset alone may be acknowledged
// before older ones.
const undelivered = `SELECT count(*) FROM watermill_forwarded AS m, watermill_offsets_forwarded AS o
	WHERE o.consumer_group = '' AND (m.transaction_id, m."offset") > (o.last_processed_transaction_id, o.offset_acked)`

// forwarderTown is a town whose old side is Watermill's forwarder on
// watermill-sql, as its documentation sets it up.
func forwarderTown(t *testing.T) *town {
	t.Helper()
	db := servicetest.Postgres(t)
	store, err := pgoutbox.New(db, pgoutbox.Config{})
	must(t, err)
	must(t, store.Migrate(t.Context()))
	w := &town{db: db, store: store, turns: migrating.Switch{Postgres: true}, to: listen(), apart: true}
	must(t, w.found(t.Context()))
	w.old = func(_ context.Context, tx *sql.Tx, m *message.Message) error {
		p, err := wsql.NewPublisher(tx, wsql.PublisherConfig{SchemaAdapter: wsql.DefaultPostgreSQLSchema{}}, watermill.NopLogger{})
		if err != nil {
			return err
		}
		return forwarder.NewPublisher(p, forwarder.PublisherConfig{ForwarderTopic: forwarded}).Publish(orders, m)
	}
	sub := w.subscriber(t)
	must(t, sub.SubscribeInitialize(forwarded))
	must(t, sub.Close())
	return w
}

func (w *town) subscriber(t *testing.T) *wsql.Subscriber {
	t.Helper()
	sub, err := wsql.NewSubscriber(w.db, wsql.SubscriberConfig{
		SchemaAdapter: wsql.DefaultPostgreSQLSchema{}, OffsetsAdapter: wsql.DefaultPostgreSQLOffsetsAdapter{},
		InitializeSchema: true, PollInterval: 10 * time.Millisecond,
	}, watermill.NopLogger{})
	must(t, err)
	return sub
}

// forward runs the forwarder; stop ends it when no message waits on its side.
func (w *town) forward(t *testing.T, ctx context.Context) (stop func()) {
	t.Helper()
	f, err := forwarder.NewForwarder(w.subscriber(t), w.to, watermill.NopLogger{}, forwarder.Config{ForwarderTopic: forwarded, CloseTimeout: 5 * time.Second})
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	return func() {
		t.Helper()
		for n := 1; n > 0; { // as an operator repeats the query
			_, more := w.to.so()
			must(t, w.db.QueryRowContext(ctx, undelivered).Scan(&n))
			if n > 0 {
				select {
				case <-more:
				case <-time.After(20 * time.Millisecond): // the last is acknowledged after its publish
				case <-ctx.Done():
					t.Fatalf("%d messages wait in the forwarder's table: %v", n, ctx.Err())
				}
			}
		}
		must(t, f.Close())
		must(t, <-done)
	}
}

// TestForwarder moves from Watermill's forwarder to package outbox, back, and again,
// while eight writers write.
func TestForwarder(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	w := forwarderTown(t)
	stopWriters := w.writers(ctx)
	for range 2 {
		stopOld := w.forward(t, ctx)
		must(t, w.to.until(ctx, w.to.count()+some))
		must(t, w.turns.Turn(ctx, w.db, migrating.New))
		stopOld() // it has published all that was on its side
		stopNew, err := w.relay(ctx)
		must(t, err)
		must(t, w.to.until(ctx, w.to.count()+some))
		must(t, w.turns.Turn(ctx, w.db, migrating.Old)) // and back
		must(t, stopNew(true))
	}
	must(t, stopWriters())
	w.forward(t, ctx)()
	w.judge(t)
}
