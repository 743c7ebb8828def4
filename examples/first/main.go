// Command first publishes one event through an outbox in a SQLite file of its
// own, and consumes it. The README shows this file.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	db := must(sqliteoutbox.Open("app.db")) // your tables and those of the outbox
	store := must(sqliteoutbox.New(db, sqliteoutbox.Config{}))
	check(store.Migrate(ctx))
	box := must(outbox.New(store, outbox.Config{Topic: "order.events"}))
	b := must(bus.NewOpener(sqlitebus.Scheme(sqlitebus.Config{DB: db})).Open(ctx, "sqlite://app.db"))
	relay := must(outbox.NewRelay(store, b.Publisher(), outbox.RelayConfig{}))
	var relaying sync.WaitGroup
	relaying.Go(func() { check(relay.Run(ctx)) })
	check(sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		// … write rows of yours with tx: they and the event commit together, or neither does
		return box.Append(ctx, tx, must(event.New("OrderPlaced", "shop", map[string]int{"amount": 120})))
	}))
	runner := must(bus.NewRunner(b, bus.RunnerConfig{}))
	check(runner.Add(bus.Consumer{Topic: "order.events", Group: "mail", Handler: bus.Handle(func(_ context.Context, e event.Event) error {
		fmt.Println("got", e.Type, string(e.Data))
		stop() // one event is enough here
		return nil
	})}))
	check(runner.Run(ctx))
	relaying.Wait()
}

func must[T any](v T, err error) T { check(err); return v }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
