// Package backlog makes the events that benchmarks publish.
package backlog

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
)

// Event is the n-th event, of one of so many keys in turn.
func Event(n, keys int, data json.RawMessage) (event.Event, error) {
	e, err := event.New("PaymentSuccess", "bench", data)
	e.AggregateType, e.AggregateID = "payment", "payment-"+strconv.Itoa(n%keys)
	return e, err
}

// Text is data of so many bytes that no system inspects: a JSON string.
func Text(size int) func(int) json.RawMessage {
	data := json.RawMessage(`"` + strings.Repeat("x", size) + `"`)
	return func(int) json.RawMessage { return data }
}

// Payment is data of so many bytes that differs from event to event and
// compresses about as well as JSON does.
func Payment(size int) func(int) json.RawMessage {
	return func(n int) json.RawMessage {
		head := fmt.Sprintf(`{"paymentId":"%032d","reservationId":"%d","amount":%d,"paidAt":"2026-01-01T00:00:00Z","note":"`, n*7919, n, n%10_000)
		room := max(size-len(head)-2, 0)
		return json.RawMessage(head + strings.Repeat("seat A-1 ", room/9+1)[:room] + `"}`)
	}
}

// Fill makes the tables of an outbox, and appends n events to it.
func Fill(ctx context.Context, db *sql.DB, store driver.SQLStore, n, keys int, data func(int) json.RawMessage) error {
	if err := store.Migrate(ctx); err != nil {
		return err
	}
	box, err := outbox.New(store, outbox.Config{Topic: "payment.events"})
	if err != nil {
		return err
	}
	defer box.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it waits for nothing: no relay was woken
	return Append(ctx, db, box, n, keys, data)
}

// Append appends n events, 1000 in a transaction.
func Append(ctx context.Context, db *sql.DB, box *outbox.Outbox, n, keys int, data func(int) json.RawMessage) error {
	for done := 0; done < n; {
		batch := make([]event.Event, min(1000, n-done))
		for i := range batch {
			var err error
			if batch[i], err = Event(done+i, keys, data(done+i)); err != nil {
				return err
			}
		}
		if err := inTransaction(ctx, db, box, batch); err != nil {
			return err
		}
		done += len(batch)
	}
	return nil
}

// inTransaction is a bare transaction, so that it sends no notifications.
func inTransaction(ctx context.Context, db *sql.DB, box *outbox.Outbox, batch []event.Event) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // no-op after the commit
	if err := box.Append(ctx, tx, batch...); err != nil {
		return err
	}
	return tx.Commit()
}
