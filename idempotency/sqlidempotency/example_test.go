package sqlidempotency_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/sqltx"
)

func ExampleNew() {
	dir, err := os.MkdirTemp("", "sqlidempotency")
	check(err)
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "app.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	check(err)
	defer db.Close()

	store, err := sqlidempotency.New(db, sqlidempotency.Config{Dialect: sqltx.SQLite})
	check(err)
	ctx := context.Background()
	check(store.Migrate(ctx))
	for range 2 {
		fresh, err := store.Once(ctx, driver.Record{Key: "stats:e1"}, func(ctx context.Context) error {
			_, ok := sqltx.On(ctx, db)
			fmt.Println("in a transaction:", ok)
			return nil
		})
		fmt.Println(fresh, err)
	}
	// Output:
	// in a transaction: true
	// true <nil>
	// false <nil>
}

func ExampleNewLeases() {
	dir, err := os.MkdirTemp("", "sqlidempotency")
	check(err)
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "app.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	check(err)
	defer db.Close()

	store, err := sqlidempotency.NewLeases(db, sqlidempotency.Config{Dialect: sqltx.SQLite})
	check(err)
	ctx := context.Background()
	check(store.Migrate(ctx))
	c, err := store.Claim(ctx, driver.Record{Key: "mailer:e1"}, time.Minute)
	fmt.Println(c.State, err)
	fmt.Println(store.Complete(ctx, c, []byte("sent")))
	again, err := store.Claim(ctx, driver.Record{Key: "mailer:e1"}, time.Minute)
	fmt.Println(again.State, string(again.Result), err)
	// Output:
	// claimed <nil>
	// <nil>
	// done sent <nil>
}

func ExampleNew_print() {
	dir, err := os.MkdirTemp("", "sqlidempotency")
	check(err)
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "app.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	check(err)
	defer db.Close()
	store, err := sqlidempotency.New(db, sqlidempotency.Config{Dialect: sqltx.SQLite, ProcessedEvents: true})
	check(err)
	var script strings.Builder
	check(store.PrintMigrations(&script))
	for line := range strings.Lines(script.String()) {
		if strings.HasPrefix(line, "CREATE") {
			fmt.Print(line)
		}
	}
	// Output:
	// CREATE TABLE millrace_idempotency_processed_events_version (
	// CREATE TABLE processed_events (
	// CREATE INDEX processed_events_processed_at ON processed_events (processed_at);
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
