package sqliteoutbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

func ExampleNew() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "outbox")
	check(err)
	defer os.RemoveAll(dir)

	db, err := sqliteoutbox.Open(filepath.Join(dir, "app.db"))
	check(err)
	defer db.Close()

	store, err := sqliteoutbox.New(db, sqliteoutbox.Config{})
	check(err)
	check(store.Migrate(ctx))

	box, err := outbox.New(store, outbox.Config{Topic: "seat.events"})
	check(err)
	sold, err := event.New("SeatSold", "boxoffice", nil)
	check(err)
	sold.AggregateID = "A-1"
	check(sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		return box.Append(ctx, tx, sold)
	}))

	publisher := &outboxtest.Publisher{} // any Watermill publisher
	relay, err := outbox.NewRelay(store, publisher, outbox.RelayConfig{})
	check(err)
	check(relay.Drain(ctx)) // or relay.Run(ctx), until the process ends
	for _, p := range publisher.Published() {
		fmt.Println(p.Topic, p.Event.Type, p.Event.Key())
	}
	// Output: seat.events SeatSold A-1
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
