package pgoutbox_test

import (
	"context"
	"database/sql"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	return store, db
}

// other opens a store with another pool on the same schema, like a second process.
func other(t testing.TB, url string) (driver.SQLStore, *sql.DB) {
	t.Helper()
	db, err := pgdb.Open(url)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	store, err := pgoutbox.New(db, pgoutbox.Config{})
	require.NoError(t, err)
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
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-done, "Run")
	})
	return pub
}

func TestOtherProcessesAreWoken(t *testing.T) {
	url := servicetest.PostgresURL(t)
	relayStore, _ := other(t, url)
	require.NoError(t, relayStore.Migrate(t.Context()))
	pub := run(t, relayStore, outbox.RelayConfig{})
	writer, db := other(t, url)
	box, err := outbox.New(writer, outbox.Config{Topic: "t"})
	require.NoError(t, err)
	ctx := storetest.Within(t, 20*time.Second)
	for i := range 5 {
		err := storetest.InTx(db)(ctx, func(ctx context.Context, tx sqltx.Execer) error {
			return box.Append(ctx, tx, storetest.Event(t, "a", i+1))
		})
		require.NoError(t, err)
		require.NoError(t, pub.WaitFor(ctx, i+1))
	}
	assert.NoError(t, box.Close(ctx))

	// A bare transaction has no hook: its COMMIT can be the wake-up.
	inside, err := outbox.New(writer, outbox.Config{Topic: "t", NotifyInTransaction: true})
	require.NoError(t, err)
	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	require.NoError(t, inside.Append(ctx, tx, storetest.Event(t, "a", 6)))
	require.NoError(t, tx.Commit())
	require.NoError(t, pub.WaitFor(ctx, 6))

	// Events that an operator retries are published at once, too.
	_, err = db.ExecContext(ctx, `
		INSERT INTO outbox_failed (id, shard, topic, message_id, message_key, headers, payload, created_at, attempts, last_error, first_failed_at)
		SELECT id + 1000, 0, topic, message_id, message_key, headers, payload, created_at, 3, 'x', now() FROM outbox_messages LIMIT 1`)
	require.NoError(t, err)
	if n, err := writer.RetryAll(ctx); err != nil || n != 1 {
		t.Fatalf("RetryAll = %d, %v", n, err)
	}
	require.NoError(t, pub.WaitFor(ctx, 7))
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
	require.NoError(t, store.Migrate(t.Context()))
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	require.NoError(t, err)
	ctx := storetest.Within(t, 20*time.Second)
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	pub := run(t, store, outbox.RelayConfig{})
	for i, commit := range []bool{false, true} {
		tx, err := conn.Begin(ctx)
		require.NoError(t, err)
		require.NoError(t, box.Append(ctx, pgoutbox.Tx(tx), storetest.Event(t, "a", i+1)))
		if commit {
			err = tx.Commit(ctx)
		} else {
			err = tx.Rollback(ctx)
		}
		require.NoError(t, err)
		box.Wake()
	}
	require.NoError(t, pub.WaitFor(ctx, 1))
	if got := pub.Published(); len(got) != 1 || got[0].Event.Sequence != 2 {
		t.Errorf("published %d events, want the committed one", len(got))
	}
	assert.NoError(t, box.Close(ctx))
}

func TestRebase(t *testing.T) {
	store, db := open(t, pgoutbox.Config{Shards: 2})
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	require.NoError(t, err)
	ctx := storetest.Within(t, 20*time.Second)
	write := func(n int) {
		t.Helper()
		err := storetest.InTx(db)(ctx, func(ctx context.Context, tx sqltx.Execer) error {
			return box.Append(ctx, tx, storetest.Event(t, "a", n), storetest.Event(t, "b", n))
		})
		require.NoError(t, err)
	}
	pub := &outboxtest.Publisher{}
	relay, err := outbox.NewRelay(store, pub, outbox.RelayConfig{})
	require.NoError(t, err)
	write(1)
	require.NoError(t, relay.Drain(ctx))
	var restored time.Time
	require.NoError(t, db.QueryRowContext(ctx, `SELECT clock_timestamp()`).Scan(&restored))
	write(2)
	// The same state as after the dump was restored on another system.
	_, err = db.ExecContext(ctx, `UPDATE outbox_cursors SET system_id = 1`)
	require.NoError(t, err)
	require.ErrorIs(t, relay.Run(ctx), driver.ErrForeignDatabase, "Run on foreign cursors")
	require.NoError(t, store.(driver.Rebaser).Rebase(ctx, restored))
	write(3)
	require.NoError(t, relay.Drain(ctx))
	if got := pub.Published(); len(got) != 6 || outboxtest.Duplicates(got)+outboxtest.Inversions(got) != 0 {
		t.Errorf("published %d events, want each of the 6 once and in order", len(got))
	}
	assert.NoError(t, box.Close(ctx))
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
	require.NoError(t, err)
	var c counter
	cfg.Tracer = &c
	db := stdlib.OpenDB(*cfg)
	t.Cleanup(func() { db.Close() })
	store, err := pgoutbox.New(db, pgoutbox.Config{})
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
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
	require.NoError(t, err)
	var script strings.Builder
	require.NoError(t, store.PrintMigrations(&script))
	_, err = db.ExecContext(t.Context(), script.String())
	require.NoError(t, err)
	if err := store.Migrate(t.Context()); err != nil { // finds no work
		t.Fatal(err)
	}
	for _, table := range []string{"outbox_messages", "outbox_messages_pruned", "outbox_cursors", "outbox_cursors_progress", "outbox_retries", "outbox_failed", "outbox_settings"} {
		_, err := db.ExecContext(t.Context(), "SELECT 1 FROM "+table)
		assert.NoError(t, err)
	}
}
