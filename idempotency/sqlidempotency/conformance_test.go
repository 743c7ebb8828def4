package sqlidempotency_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/idempotencytest"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// database is a database for tests.
type database struct {
	name string
	sqltx.Dialect
	url  func(t testing.TB) string // of a new one
	open func(url string) (*sql.DB, error)
}

var databases = []database{
	{"sqlite", sqltx.SQLite, func(t testing.TB) string { path, _ := servicetest.SQLite(t); return path },
		func(path string) (*sql.DB, error) {
			return sqlitedb.Open(path, sqlitedb.Config{Synchronous: sqlitedb.Normal})
		}},
	{"postgres", sqltx.Postgres, servicetest.PostgresURL, pgdb.Open},
	{"mariadb", sqltx.MySQL, servicetest.MariaDBURL, mysqldb.Open},
	{"mysql", sqltx.MySQL, servicetest.MySQLURL, mysqldb.Open},
}

// pools opens two pools on one new database, like two processes.
func pools(t testing.TB, on database) (a, b *sql.DB) {
	t.Helper()
	url := on.url(t)
	for _, db := range []**sql.DB{&a, &b} {
		var err error
		if *db, err = on.open(url); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { (*db).Close() })
	}
	return a, b
}

func newStore(t testing.TB, db *sql.DB, cfg sqlidempotency.Config) driver.SQLStore[*sql.Tx] {
	t.Helper()
	s, err := sqlidempotency.New(db, cfg)
	require.NoError(t, err)
	return s
}

func migrated(t testing.TB, db *sql.DB, cfg sqlidempotency.Config) driver.SQLStore[*sql.Tx] {
	t.Helper()
	s := newStore(t, db, cfg)
	require.NoError(t, s.Migrate(t.Context()))
	return s
}

// eachConfig runs a test on every database and for both layouts.
func eachConfig(t *testing.T, run func(t *testing.T, on database, cfg sqlidempotency.Config)) {
	eachDatabase(t, func(t *testing.T, on database) {
		for _, processed := range []bool{false, true} {
			cfg := sqlidempotency.Config{Dialect: on.Dialect, ProcessedEvents: processed}
			t.Run(layoutOf(cfg), func(t *testing.T) { run(t, on, cfg) })
		}
	})
}

func layoutOf(cfg sqlidempotency.Config) string {
	if cfg.ProcessedEvents {
		return "processed_events"
	}
	return "event_handled"
}

func eachDatabase(t *testing.T, run func(t *testing.T, on database)) {
	for _, on := range databases {
		t.Run(on.name, func(t *testing.T) { run(t, on) })
	}
}

func TestConformance(t *testing.T) {
	eachConfig(t, func(t *testing.T, on database, cfg sqlidempotency.Config) {
		idempotencytest.Run(t, func(t *testing.T) idempotencytest.Harness {
			db, peer := pools(t, on)
			return idempotencytest.Harness{
				Store: migrated(t, db, cfg), Peer: newStore(t, peer, cfg), DB: db,
				Backdate: backdate(db, cfg),
			}
		})
	})
}

func backdate(db *sql.DB, cfg sqlidempotency.Config) func(context.Context, string, time.Duration) error {
	column, where := "handled_at", "idempotency_key = $1"
	if cfg.ProcessedEvents {
		column, where = "processed_at", "consumer_service || ':' || event_id = $1"
	}
	shifted := fmt.Sprintf("%s - $2 * interval '1 second'", column)
	switch cfg.Dialect {
	case sqltx.SQLite:
		shifted = fmt.Sprintf("strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', %s, '-' || $2 || ' seconds')", column)
	case sqltx.MySQL:
		shifted = column + " - INTERVAL ? SECOND"
		if where = "idempotency_key = ?"; cfg.ProcessedEvents {
			where = "CONCAT(consumer_service, ':', event_id) = ?"
		}
	}
	return func(ctx context.Context, key string, by time.Duration) error {
		args := []any{key, int(by.Seconds())}
		if cfg.Dialect == sqltx.MySQL {
			slices.Reverse(args) // its parameters have no numbers
		}
		res, err := db.ExecContext(ctx, fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s", layoutOf(cfg), column, shifted, where), args...)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); n != 1 || err != nil {
			return fmt.Errorf("%d rows changed, %w", n, err)
		}
		return nil
	}
}
