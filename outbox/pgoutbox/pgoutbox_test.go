package pgoutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/storetest"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var database = storetest.Database{
	Open: servicetest.Postgres,
	New: func(db *sql.DB, c storetest.Config) (driver.SQLStore, error) {
		return pgoutbox.New(db, pgoutbox.Config{Status: c.Status, Schema: c.Schema, Prefix: c.Prefix, Shards: c.Shards})
	},
	Elsewhere: elsewhere, Create: "CREATE SCHEMA",
	Recent: "id = $1 AND created_at > now() - interval '1 minute'",
}

func TestConformance(t *testing.T) { database.Conformance(t, false) }

func TestNewRejects(t *testing.T) { database.Rejects(t) }

func TestFewerShards(t *testing.T) { database.FewerShards(t) }

func open(t testing.TB, cfg pgoutbox.Config) (driver.SQLStore, *sql.DB) {
	t.Helper()
	db := servicetest.Postgres(t)
	store, err := pgoutbox.New(db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store, db
}

// other opens a store with another pool on the same schema, like a second process.
func other(t testing.TB, url string) (driver.SQLStore, *sql.DB) {
	t.Helper()
	db, err := pgdb.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	store, err := pgoutbox.New(db, pgoutbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return store, db
}

// run starts a relay that never polls within the test, and waits until it is idle.
func run(t *testing.T, store driver.Store, cfg outbox.RelayConfig) *outboxtest.Publisher {
	t.Helper()
	pub := &outboxtest.Publisher{}
	if cfg.Interval == 0 {
		cfg.Interval = time.Hour
	}
	r, err := outbox.NewRelay(store, pub, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return pub
}

func TestOtherProcessesAreWoken(t *testing.T) {
	url := servicetest.PostgresURL(t)
	relayStore, _ := other(t, url)
	if err := relayStore.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	pub := run(t, relayStore, outbox.RelayConfig{})
	writer, db := other(t, url)
	box, err := outbox.New(writer, outbox.Config{Topic: "t"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := storetest.Within(t, 20*time.Second)
	for i := range 5 {
		err := storetest.InTx(db)(ctx, func(ctx context.Context, tx sqltx.Execer) error {
			return box.Append(ctx, tx, storetest.Event(t, "a", i+1))
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := pub.WaitFor(ctx, i+1); err != nil {
			t.Fatal(err)
		}
	}
	if err := box.Close(ctx); err != nil {
		t.Error(err)
	}

	// A bare transaction has no hook: its COMMIT can be the wake-up.
	inside, err := outbox.New(writer, outbox.Config{Topic: "t", NotifyInTransaction: true})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := inside.Append(ctx, tx, storetest.Event(t, "a", 6)); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := pub.WaitFor(ctx, 6); err != nil {
		t.Fatal(err)
	}

	// Events that an operator retries are published at once, too.
	if _, err := db.ExecContext(ctx, `
		INSERT INTO outbox_failed (id, shard, topic, message_id, message_key, headers, payload, created_at, attempts, last_error, first_failed_at)
		SELECT id + 1000, 0, topic, message_id, message_key, headers, payload, created_at, 3, 'x', now() FROM outbox_messages LIMIT 1`); err != nil {
		t.Fatal(err)
	}
	if n, err := writer.RetryAll(ctx); err != nil || n != 1 {
		t.Fatalf("RetryAll = %d, %v", n, err)
	}
	if err := pub.WaitFor(ctx, 7); err != nil {
		t.Fatal(err)
	}
	// The row that was appended again carries its labels.
	var typ, aggregate, id string
	if err := db.QueryRowContext(ctx, `SELECT event_type, aggregate_type, aggregate_id FROM outbox_messages ORDER BY id DESC LIMIT 1`).
		Scan(&typ, &aggregate, &id); err != nil || typ != "Tested" || aggregate != "test" || id != "a" {
		t.Errorf("labels of a retried event are %q, %q, %q, %v", typ, aggregate, id, err)
	}
}

func TestPgxTransaction(t *testing.T) {
	url := servicetest.PostgresURL(t)
	store, _ := other(t, url)
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := storetest.Within(t, 20*time.Second)
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	pub := run(t, store, outbox.RelayConfig{})
	for i, commit := range []bool{false, true} {
		tx, err := conn.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := box.Append(ctx, pgoutbox.Tx(tx), storetest.Event(t, "a", i+1)); err != nil {
			t.Fatal(err)
		}
		if commit {
			err = tx.Commit(ctx)
		} else {
			err = tx.Rollback(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		box.Wake()
	}
	if err := pub.WaitFor(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if got := pub.Published(); len(got) != 1 || got[0].Event.Sequence != 2 {
		t.Errorf("published %d events, want the committed one", len(got))
	}
	if err := box.Close(ctx); err != nil {
		t.Error(err)
	}
}

func TestRebase(t *testing.T) {
	store, db := open(t, pgoutbox.Config{Shards: 2})
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := storetest.Within(t, 20*time.Second)
	write := func(n int) {
		t.Helper()
		err := storetest.InTx(db)(ctx, func(ctx context.Context, tx sqltx.Execer) error {
			return box.Append(ctx, tx, storetest.Event(t, "a", n), storetest.Event(t, "b", n))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	pub := &outboxtest.Publisher{}
	relay, err := outbox.NewRelay(store, pub, outbox.RelayConfig{})
	if err != nil {
		t.Fatal(err)
	}
	write(1)
	if err := relay.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	var restored time.Time
	if err := db.QueryRowContext(ctx, `SELECT clock_timestamp()`).Scan(&restored); err != nil {
		t.Fatal(err)
	}
	write(2)
	// The same state as after the dump was restored on another system.
	if _, err := db.ExecContext(ctx, `UPDATE outbox_cursors SET system_id = 1`); err != nil {
		t.Fatal(err)
	}
	if err := relay.Run(ctx); !errors.Is(err, driver.ErrForeignDatabase) {
		t.Fatalf("Run on foreign cursors returned %v, want ErrForeignDatabase", err)
	}
	if err := store.(driver.Rebaser).Rebase(ctx, restored); err != nil {
		t.Fatal(err)
	}
	write(3)
	if err := relay.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	if got := pub.Published(); len(got) != 6 || outboxtest.Duplicates(got)+outboxtest.Inversions(got) != 0 {
		t.Errorf("published %d events, want each of the 6 once and in order", len(got))
	}
	if err := box.Close(ctx); err != nil {
		t.Error(err)
	}
}

// counter counts the statements of a pool.
type counter struct{ n atomic.Int64 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (*counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func TestIdleRelayAsksRarely(t *testing.T) {
	cfg, err := pgx.ParseConfig(servicetest.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	var c counter
	cfg.Tracer = &c
	db := stdlib.OpenDB(*cfg)
	t.Cleanup(func() { db.Close() })
	store, err := pgoutbox.New(db, pgoutbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	asksRarely(t, &c, store.(listening))
}

// unwoken is a store whose Listen never wakes: the tests of all packages in one database wake
// each other's relays.
type unwoken struct{ listening }

type listening interface {
	driver.Store
	driver.Signal
	driver.Listener
	driver.Pruner
}

func (s unwoken) Listen(ctx context.Context, _ func()) error {
	return s.listening.Listen(ctx, func() {})
}

// asksRarely runs an idle relay on a store whose statements c counts.
func asksRarely(t *testing.T, c *counter, store listening) {
	t.Helper()
	held := make(chan bool, 2)
	run(t, unwoken{store}, outbox.RelayConfig{Interval: time.Second, LeaseTTL: 3 * time.Second,
		Hooks: outbox.Hooks{Lease: func(_ int, h bool) { held <- h }}})
	<-held
	timer := time.NewTimer(1200 * time.Millisecond) // after the statements of the start
	<-timer.C
	began, before := time.Now(), c.n.Load()
	timer.Reset(3 * time.Second)
	<-timer.C
	n := c.n.Load() - before
	// One look and, with this short lease, one renewal per second.
	if took := time.Since(began); float64(n) > 2*took.Seconds()+2 || n < 2 {
		t.Errorf("an idle relay sent %d statements in %v, want 1 to 2 per second", n, took)
	}
}

func TestPrintedMigrations(t *testing.T) {
	db := servicetest.Postgres(t)
	store, err := pgoutbox.New(db, pgoutbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	if err := store.PrintMigrations(&script); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), script.String()); err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context()); err != nil { // finds no work
		t.Fatal(err)
	}
	for _, table := range []string{"outbox_messages", "outbox_messages_pruned", "outbox_cursors", "outbox_cursors_progress", "outbox_retries", "outbox_failed", "outbox_settings"} {
		if _, err := db.ExecContext(t.Context(), "SELECT 1 FROM "+table); err != nil {
			t.Error(err)
		}
	}
}
