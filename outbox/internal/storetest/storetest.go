// Package storetest holds tests that the outboxes of all databases share, beside the suite of
// package outboxtest: they look at tables, names and pools.
package storetest

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/sqltx"
)

// Config are the fields that the configurations of all databases have.
type Config struct {
	Status         bool
	Schema, Prefix string
	Shards         int
}

// Database is a database under test.
type Database struct {
	// Open opens a pool on an empty schema.
	Open func(t testing.TB) *sql.DB
	New  func(db *sql.DB, c Config) (driver.SQLStore, error)
	// Elsewhere creates a schema that is not the pool's, by a statement that begins with Create.
	// It is nil where there is one schema alone.
	Elsewhere func(t testing.TB, db *sql.DB) string
	Create    string
	// Recent is a condition on rows of outbox_events: a given id, created within a minute.
	Recent string
}

// kinds are the two kinds of stores.
var kinds = map[string]bool{"cursor": false, "status": true}

// Store opens a store whose tables are created.
func (d Database) Store(t testing.TB, c Config) (driver.SQLStore, *sql.DB) {
	t.Helper()
	db := d.Open(t)
	return d.on(t, db, c), db
}

func (d Database) on(t testing.TB, db *sql.DB, c Config) driver.SQLStore {
	t.Helper()
	store, err := d.New(db, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store
}

// Conformance runs the suite on one kind of store.
func (d Database) Conformance(t *testing.T, status bool) {
	outboxtest.Run(t, func(t testing.TB, shards int) outboxtest.Harness {
		c := Config{Status: status, Shards: shards}
		store, db := d.Store(t, c)
		return d.harness(store, db, c)
	})
}

func (d Database) harness(store driver.Store, db *sql.DB, c Config) outboxtest.Harness {
	return outboxtest.Harness{Store: store, InTx: InTx(db), Reopen: func(shards int) (driver.Store, error) {
		c.Shards = shards
		return d.New(db, c)
	}}
}

// OneConnection runs the cases of the suite with the most concurrency, with relays, writers,
// pruners and statistics that share one connection.
func (d Database) OneConnection(t *testing.T) {
	for kind, status := range kinds {
		t.Run(kind, func(t *testing.T) {
			outboxtest.Run(t, func(t testing.TB, shards int) outboxtest.Harness {
				db := d.Open(t)
				db.SetMaxOpenConns(1)
				c := Config{Status: status, Shards: shards}
				return d.harness(d.on(t, db, c), db, c)
			}, Concurrent...)
		})
	}
}

// Concurrent lists the cases of the suite with the most concurrency.
var Concurrent = []string{"OrderPerKey", "TwoRelays", "WakeOnCommit", "ByKeyPasses", "MaxAgeParksStrict", "RetryParked", "Prune", "Stats"}

// Rejects gives New what it must refuse.
func (d Database) Rejects(t *testing.T) {
	for kind, status := range kinds {
		if _, err := d.New(nil, Config{Status: status}); err == nil {
			t.Errorf("%s: New accepted no pool", kind)
		}
		for _, n := range []int{-1, 5000} {
			if _, err := d.New(&sql.DB{}, Config{Status: status, Shards: n}); err == nil || !strings.Contains(err.Error(), "Shards") {
				t.Errorf("%s: New with %d shards returned %v, want an error that names Shards", kind, n, err)
			}
		}
	}
}

// Event returns the nth event of a key.
func Event(t testing.TB, key string, n int) event.Event {
	t.Helper()
	e, err := outboxtest.NewEvent(key, n)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Append commits events of the topic "events".
func Append(t testing.TB, db *sql.DB, store driver.Store, events ...event.Event) {
	t.Helper()
	box, err := outbox.New(store, outbox.Config{Topic: "events"})
	if err != nil {
		t.Fatal(err)
	}
	err = InTx(db)(t.Context(), func(ctx context.Context, tx sqltx.Execer) error { return box.Append(ctx, tx, events...) })
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// InTx runs functions in transactions.
func InTx(db *sql.DB) func(context.Context, func(context.Context, sqltx.Execer) error) error {
	return func(ctx context.Context, fn func(ctx context.Context, tx sqltx.Execer) error) error {
		return sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error { return fn(ctx, tx) })
	}
}

// Within returns a context that ends after d.
func Within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
