// Command quickstart sends one event the whole way in one file: it is appended
// in a transaction, relayed, and handled once, on a SQLite file. It is what
// examples/first does, with a consumer whose effect happens once.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

func main() {
	dir, err := os.MkdirTemp("", "quickstart-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	if err := run(context.Background(), filepath.Join(dir, "app.db")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, path string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	db, err := sqliteoutbox.Open(path)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the end of the program
	if _, err := db.Exec(`CREATE TABLE orders (id TEXT PRIMARY KEY); CREATE TABLE sales (total INTEGER); INSERT INTO sales VALUES (0)`); err != nil {
		return err
	}

	// Append: the order and its event commit together, or neither does.
	store, err := sqliteoutbox.New(db, sqliteoutbox.Config{})
	if err != nil {
		return err
	}
	if err := store.Migrate(ctx); err != nil {
		return err
	}
	box, err := outbox.New(store, outbox.Config{Topic: "order.events"})
	if err != nil {
		return err
	}
	placed, err := event.New("OrderPlaced", "shop", map[string]int{"amount": 120})
	if err != nil {
		return err
	}
	placed.AggregateType, placed.AggregateID = "order", "o-1"
	err = sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO orders VALUES ('o-1')`); err != nil {
			return err
		}
		return box.Append(ctx, tx, placed)
	})
	if err != nil {
		return err
	}

	// Relay: from the outbox to a transport that a URL names.
	opener := bus.NewOpener(sqlitebus.Scheme(sqlitebus.Config{DB: db}))
	b, err := opener.Open(ctx, "sqlite://"+path)
	if err != nil {
		return err
	}
	defer b.Close() //nolint:errcheck // the end of the program
	relay, err := outbox.NewRelay(store, b.Publisher(), outbox.RelayConfig{})
	if err != nil {
		return err
	}

	// Consume: the key and the effect commit together, so redelivery does nothing.
	keys, err := sqlidempotency.New(db, sqlidempotency.Config{Dialect: sqlidempotency.SQLite})
	if err != nil {
		return err
	}
	if err := keys.Migrate(ctx); err != nil {
		return err
	}
	guard, err := idempotency.New[*sql.Tx](keys, idempotency.Config{Group: "sales"})
	if err != nil {
		return err
	}
	runner, err := bus.NewRunner(b, bus.RunnerConfig{})
	if err != nil {
		return err
	}
	err = runner.Add(bus.Consumer{
		Topic: "order.events", Group: "sales",
		Guarded: guard.ByType(map[string]idempotency.EventHandler[*sql.Tx]{
			"OrderPlaced": func(ctx context.Context, tx *sql.Tx, e event.Event) error {
				var order struct{ Amount int }
				if err := e.UnmarshalData(&order); err != nil {
					return err
				}
				_, err := tx.ExecContext(ctx, `UPDATE sales SET total = total + ?`, order.Amount)
				fmt.Println("handled", e.Type, "of", e.AggregateID)
				stop() // one event is enough here
				return err
			},
		}),
	})
	if err != nil {
		return err
	}

	done := make(chan error, 2)
	go func() { done <- relay.Run(ctx) }()
	go func() { done <- runner.Run(ctx) }()
	for range 2 {
		if err := <-done; err != nil {
			return err
		}
	}
	var total int
	if err := db.QueryRow(`SELECT total FROM sales`).Scan(&total); err != nil {
		return err
	}
	fmt.Println("sales:", total)
	return nil
}
