package idempotency_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/memidempotency"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/sqltx"
)

// A payment event that is delivered twice sells one ticket.
func ExampleGuard_Do() {
	dir, err := os.MkdirTemp("", "idempotency")
	check(err)
	defer os.RemoveAll(dir)
	db, err := sqlitedb.Open(filepath.Join(dir, "app.db"), sqlitedb.Config{})
	check(err)
	defer db.Close()
	ctx := context.Background()
	_, err = db.ExecContext(ctx, `CREATE TABLE tickets (seat TEXT)`)
	check(err)

	store, err := sqlidempotency.New(db, sqlidempotency.Config{Dialect: sqlidempotency.SQLite})
	check(err)
	check(store.Migrate(ctx))
	guard, err := idempotency.New(store, idempotency.Config{Group: "ticket-service-group"})
	check(err)

	e, err := event.New("PaymentSuccess", "payments", nil)
	check(err)
	for range 2 {
		fresh, err := guard.Do(ctx, e, func(ctx context.Context) error {
			tx, _ := sqltx.From(ctx)
			_, err := tx.ExecContext(ctx, `INSERT INTO tickets VALUES ('A1')`)
			return err
		})
		fmt.Println(fresh, err)
	}
	var n int
	check(db.QueryRowContext(ctx, `SELECT count(*) FROM tickets`).Scan(&n))
	fmt.Println("tickets:", n)
	// Output:
	// true <nil>
	// false <nil>
	// tickets: 1
}

func ExampleGuard_Middleware() {
	guard, err := idempotency.New(memidempotency.New(), idempotency.Config{Group: "mailer"})
	check(err)
	handler := guard.Middleware(func(msg *message.Message) ([]*message.Message, error) {
		e, _ := idempotency.EventFrom(msg.Context())
		fmt.Println("mail for", e.AggregateID)
		return nil, nil
	})
	e, err := event.New("ReservationConfirmed", "reservations", nil)
	check(err)
	e.AggregateID = "r-7"
	msg, err := event.Structured{}.Encode(e)
	check(err)
	for range 2 {
		_, err := handler(msg)
		fmt.Println(err)
	}
	// Output:
	// mail for r-7
	// <nil>
	// <nil>
}

func ExampleNew() {
	_, err := idempotency.New(memidempotency.New(), idempotency.Config{})
	fmt.Println(err)
	// Output: idempotency: Config.Group is empty; give the consumer group's name
}

// Two events ask for a refund of one payment; it is given once.
func ExampleByAggregate() {
	key := idempotency.ByAggregate(func(event.Event) string { return "refund" })
	for _, id := range []string{"e1", "e2"} {
		k, err := key("payments", event.Event{ID: id, Type: "RefundAsked", AggregateType: "payment", AggregateID: "p-9"})
		fmt.Println(k, err)
	}
	// Output:
	// payments:payment:p-9:refund <nil>
	// payments:payment:p-9:refund <nil>
}

func ExampleByEvent() {
	fmt.Println(idempotency.ByEvent("stats", event.Event{ID: "e1"}))
	// Output: stats:e1 <nil>
}

func ExampleNewPruner() {
	store := memidempotency.New()
	ctx := context.Background()
	_, err := store.Once(ctx, idempotency.Record{Key: "stats:e1"}, func(context.Context) error { return nil })
	check(err)
	// Longer than the broker's retention and than dead letters wait.
	pruner, err := idempotency.NewPruner(store, idempotency.PrunerConfig{Retention: 14 * 24 * time.Hour})
	check(err)
	fmt.Println(pruner.Prune(ctx)) // a program calls Run
	// Output: 0 <nil>
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
