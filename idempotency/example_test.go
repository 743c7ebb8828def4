package idempotency_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/memidempotency"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/sqltx"
)

// A payment event is delivered twice and sells one ticket.
func ExampleGuard_Do() {
	dir, err := os.MkdirTemp("", "idempotency")
	check(err)
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "app.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	check(err)
	defer db.Close()
	ctx := context.Background()
	_, err = db.ExecContext(ctx, `CREATE TABLE tickets (seat TEXT)`)
	check(err)

	store, err := sqlidempotency.New(db, sqlidempotency.Config{Dialect: sqltx.SQLite})
	check(err)
	check(store.Migrate(ctx))
	guard, err := idempotency.New[*sql.Tx](store, idempotency.Config{Group: "ticket-service-group"})
	check(err)

	e, err := event.New("PaymentSuccess", "payments", nil)
	check(err)
	for range 2 {
		fresh, err := guard.Do(ctx, e, func(ctx context.Context, tx *sql.Tx) error {
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

// This is a handler for Watermill's own Router.
func ExampleHandler_HandleMessage() {
	guard, err := idempotency.New[idempotency.NoTx](memidempotency.New(), idempotency.Config{Group: "mailer"})
	check(err)
	handler := guard.Handle(func(_ context.Context, _ idempotency.NoTx, e event.Event) error {
		fmt.Println("mail for", e.AggregateID)
		return nil
	})
	e, err := event.New("ReservationConfirmed", "reservations", nil)
	check(err)
	e.AggregateID = "r-7"
	msg, err := event.Structured{}.Encode(e)
	check(err)
	for range 2 {
		fmt.Println(handler.HandleMessage(msg))
	}
	// Output:
	// mail for r-7
	// <nil>
	// <nil>
}

func ExampleNew() {
	_, err := idempotency.New[idempotency.NoTx](memidempotency.New(), idempotency.Config{})
	fmt.Println(err)
	// A store in memory has no transaction for a handler.
	_, err = idempotency.New[*sql.Tx](memidempotency.New(), idempotency.Config{Group: "sales"})
	fmt.Println(err)
	// Output:
	// idempotency: Config.Group is empty; give the consumer group's name
	// idempotency: the store *memidempotency.store carries no transaction of type *sql.Tx, so effects in a database would not commit with their key; use a store of sqlidempotency on that database with *sql.Tx, or New[idempotency.NoTx] for effects that need no transaction
}

// Two events ask for a refund of one payment; one refund is made.
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

func ExampleRunPruner() {
	store := memidempotency.New()
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // a program runs the pruner until the program ends
	// Longer than the broker's retention and than dead letters wait.
	fmt.Println(idempotency.RunPruner(ctx, store, idempotency.PrunerConfig{Retention: 14 * 24 * time.Hour}))
	// Output: <nil>
}

// View counts arrive in batches: one statement claims the keys, and one update counts the new
// ones.
func ExampleGuard_DoBatch() {
	guard, err := idempotency.New[idempotency.NoTx](memidempotency.New(), idempotency.Config{Group: "stats"})
	check(err)
	view := func(id string) event.Event { return event.Event{ID: id, Type: "ShowViewed", AggregateID: "show-1"} }
	views := 0
	for _, batch := range [][]event.Event{
		{view("e1"), view("e2"), view("e1")},
		{view("e2"), view("e3")}, // e2 is delivered again
	} {
		fresh, err := guard.DoBatch(context.Background(), batch, func(_ context.Context, _ idempotency.NoTx, fresh []event.Event) error {
			views += len(fresh)
			return nil
		})
		fmt.Println(len(fresh), "new", err)
	}
	fmt.Println(views, "views")
	// Output:
	// 2 new <nil>
	// 1 new <nil>
	// 3 views
}

// A mail is sent once, and the redelivered message gets the result of the first one.
func ExampleNewLeases() {
	leases, err := idempotency.NewLeases(memidempotency.NewLeases(), idempotency.LeaseConfig{Group: "mailer"})
	check(err)
	e, err := event.New("ReservationConfirmed", "reservations", nil)
	check(err)
	for range 2 {
		result, fresh, err := leases.Do(context.Background(), e, func(_ context.Context, c idempotency.Claim) ([]byte, error) {
			fmt.Println("sending, with a token:", c.Token > 0)
			return []byte("queued as 4711"), nil
		})
		fmt.Println(string(result), fresh, err)
	}
	// Output:
	// sending, with a token: true
	// queued as 4711 true <nil>
	// queued as 4711 false <nil>
}

func ExampleNewLayered() {
	truth := memidempotency.New() // in production sqlidempotency.New
	fast := memidempotency.New()  // in production redisidempotency.New
	store, err := idempotency.NewLayered(fast, truth, idempotency.LayeredConfig{
		OnError: func(err error) { fmt.Println("the truth decides alone:", err) },
	})
	check(err)
	guard, err := idempotency.New[idempotency.NoTx](store, idempotency.Config{Group: "stats"})
	check(err)
	ctx := context.Background()
	fmt.Println(guard.Do(ctx, event.Event{ID: "e1"}, func(context.Context, idempotency.NoTx) error { return nil }))
	fmt.Println(fast.Seen(ctx, "stats:e1"))
	// Output:
	// true <nil>
	// true <nil>
}

// A client without an answer sends its payment again.
func ExampleNewHTTP() {
	guard, err := idempotency.NewHTTP(memidempotency.NewLeases(), idempotency.HTTPConfig{
		Required: true,
		Scope:    func(r *http.Request) string { return r.Header.Get("X-Member") }, // in production the signed-in member's id
	})
	check(err)
	charges := 0
	pay := guard.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		charges++
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, "payment %d", charges)
	}))
	send := func(key, body string) {
		r := httptest.NewRequest(http.MethodPost, "/api/payments", strings.NewReader(body))
		r.Header.Set("Idempotency-Key", key)
		w := httptest.NewRecorder()
		pay.ServeHTTP(w, r)
		var problem struct{ Type string }
		if json.Unmarshal(w.Body.Bytes(), &problem) == nil {
			fmt.Println(w.Code, problem.Type)
			return
		}
		fmt.Println(w.Code, w.Body, "replayed:", w.Header().Get("Idempotency-Replayed") != "")
	}
	send(`"8e03978e"`, `{"amount": 5000}`)
	send(`"8e03978e"`, `{"amount": 5000}`)
	send(`"8e03978e"`, `{"amount": 9000}`)
	// Output:
	// 202 payment 1 replayed: false
	// 202 payment 1 replayed: true
	// 422 /problems/idempotency-key-reused
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
