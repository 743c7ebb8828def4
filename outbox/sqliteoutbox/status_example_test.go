package sqliteoutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

func ExampleNew_status() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "outbox")
	check(err)
	defer os.RemoveAll(dir)
	db, err := sqliteoutbox.Open(filepath.Join(dir, "app.db"))
	check(err)
	defer db.Close()

	store, err := sqliteoutbox.New(db, sqliteoutbox.Config{Status: true})
	check(err)
	check(store.Migrate(ctx))

	box, err := outbox.New(store, outbox.Config{Topic: "seat.events"})
	check(err)
	check(sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		for _, seat := range []string{"A-1", "A-2"} {
			sold, err := event.New("SeatSold", "boxoffice", nil)
			if err != nil {
				return err
			}
			sold.AggregateID = seat
			if err := box.Append(ctx, tx, sold); err != nil {
				return err
			}
		}
		return nil
	}))

	publisher := &outboxtest.Publisher{Fail: func(topic string, e event.Event) error {
		if topic == "seat.events" && e.Key() == "A-2" {
			return errors.New("no such seat")
		}
		return nil
	}}
	relay, err := outbox.NewRelay(store, publisher, outbox.RelayConfig{
		Chunk: 1, Retry: outbox.Backoff{Initial: time.Millisecond, Max: time.Millisecond},
	})
	check(err)
	check(relay.Drain(ctx))
	for _, p := range publisher.Published() {
		fmt.Printf("%s %s %q\n", p.Topic, p.Event.Key(), p.Message.Metadata["dlq_error"])
	}
	rows, err := db.QueryContext(ctx, `SELECT aggregate_id, state, retry_count FROM outbox_events ORDER BY aggregate_id`)
	check(err)
	defer rows.Close()
	for rows.Next() {
		var seat, state string
		var retries int
		check(rows.Scan(&seat, &state, &retries))
		fmt.Println(seat, state, retries)
	}
	check(rows.Err())
	// Output:
	// seat.events A-1 ""
	// seat.events.DLT A-2 "no such seat"
	// A-1 PUBLISHED 0
	// A-2 FAILED 3
}
