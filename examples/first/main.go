// Command first emits one event in a transaction and handles it once, in a SQLite file of
// its own. The README shows this file.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/sqlite"
)

type OrderPlaced struct{ Customer, Item string }

func (o OrderPlaced) Spec() millrace.Spec {
	return millrace.On("order.events", "OrderPlaced", o.Customer) // topic, type, key
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	app, err := millrace.New(sqlite.Open("app.db"), millrace.Config{Service: "shop"})
	check(err)
	check(app.Migrate(ctx))
	millrace.Handle(app, "mail", func(_ context.Context, _ *sql.Tx, o OrderPlaced) error {
		fmt.Println("to", o.Customer, "for", o.Item) // what you write with tx, and the event's key: both or neither
		stop()                                       // one event is enough here
		return nil
	})
	check(app.Do(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return app.Emit(ctx, tx, OrderPlaced{"Ada", "two seats"}) // with your rows in tx: all of it or nothing
	}))
	check(app.Run(ctx))
	check(app.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
