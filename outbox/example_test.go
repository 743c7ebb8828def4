package outbox_test

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/sqltx"
)

func ExampleNew() {
	ctx := context.Background()
	store := outboxtest.NewMemory(1) // in production: sqliteoutbox.New or pgoutbox.New
	box, err := outbox.New(store, outbox.Config{
		Route: func(e event.Event) (string, error) { return e.AggregateType + ".events", nil },
	})
	if err != nil {
		panic(err)
	}
	paid, err := event.New("PaymentSuccess", "payments", map[string]int{"amount": 120})
	if err != nil {
		panic(err)
	}
	paid.AggregateType, paid.AggregateID = "payment", "p-1"

	// In production: sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error { … })
	err = store.Do(ctx, func(ctx context.Context, tx sqltx.Execer) error {
		return box.Append(ctx, tx, paid)
	})
	if err != nil {
		panic(err)
	}
	stats, err := store.Stats(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println("waiting:", stats[0].Backlog)
	// Output: waiting: 1
}

func ExampleNewRelay() {
	ctx, cancel := context.WithCancel(context.Background())
	store := outboxtest.NewMemory(1)
	box, err := outbox.New(store, outbox.Config{Topic: "payment.events"})
	if err != nil {
		panic(err)
	}
	publisher := &outboxtest.Publisher{} // any Watermill publisher
	relay, err := outbox.NewRelay(store, publisher, outbox.RelayConfig{Ordering: outbox.ByKey})
	if err != nil {
		panic(err)
	}
	done := make(chan error)
	go func() { done <- relay.Run(ctx) }()

	e, err := outboxtest.NewEvent("p-1", 1)
	if err != nil {
		panic(err)
	}
	err = store.Do(ctx, func(ctx context.Context, tx sqltx.Execer) error { return box.Append(ctx, tx, e) })
	if err != nil {
		panic(err)
	}
	if err := publisher.WaitFor(ctx, 1); err != nil {
		panic(err)
	}
	cancel() // finishes the batch in flight and releases the lease
	fmt.Println(<-done, publisher.Published()[0].Topic, publisher.Published()[0].Event.Key())
	// Output: <nil> payment.events p-1
}
