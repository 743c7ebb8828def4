package outboxbench

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

// millrace is our cursor outbox with its defaults.
type millrace struct{ db database }

func (millrace) name() string { return "millrace pgoutbox (defaults)" }

func (m millrace) open() (*sql.DB, *pgoutbox.Store, *outbox.Outbox, error) {
	db, err := m.db.open()
	if err != nil {
		return nil, nil, nil, err
	}
	store, err := pgoutbox.New(db, pgoutbox.Config{})
	if err != nil {
		return nil, nil, nil, err
	}
	box, err := outbox.New(store, outbox.Config{Topic: "payment.events"})
	return db, store, box, err
}

// newEvent carries the payload as a JSON string.
func newEvent(payload []byte, n int) (event.Event, error) {
	data, err := json.Marshal(string(payload))
	if err != nil {
		return event.Event{}, err
	}
	e, err := event.New("PaymentSuccess", "bench", json.RawMessage(data))
	e.AggregateType, e.AggregateID = "payment", keys[n%len(keys)]
	return e, err
}

// keys are the aggregates that events are spread over.
var keys = func() []string {
	k := make([]string, 1000)
	for i := range k {
		k[i] = "payment-" + string(rune('a'+i/100)) + string(rune('a'+i/10%10)) + string(rune('a'+i%10))
	}
	return k
}()

func (m millrace) fill(ctx context.Context, n int, payload []byte) error {
	if err := m.db.recreate(ctx); err != nil {
		return err
	}
	db, store, box, err := m.open()
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // measured work is done
	if err := store.Migrate(ctx); err != nil {
		return err
	}
	for done := 0; done < n; {
		batch := make([]event.Event, min(1000, n-done))
		for i := range batch {
			if batch[i], err = newEvent(payload, done+i); err != nil {
				return err
			}
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if err := box.Append(ctx, tx, batch...); err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		done += len(batch)
	}
	return nil
}

func (m millrace) relay(ctx context.Context, sink Sink) error {
	db, store, _, err := m.open()
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the relay has stopped
	relay, err := outbox.NewRelay(store, counter{sink}, outbox.RelayConfig{})
	if err != nil {
		return err
	}
	return relay.Run(ctx)
}

func (m millrace) appender(ctx context.Context) (func([]byte) (string, error), func(), error) {
	db, _, box, err := m.open()
	if err != nil {
		return nil, nil, err
	}
	n := 0
	appendOne := func(payload []byte) (string, error) {
		n++
		e, err := newEvent(payload, n)
		if err != nil {
			return "", err
		}
		return e.ID, sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
			return box.Append(ctx, tx, e)
		})
	}
	return appendOne, func() { db.Close() }, nil
}
