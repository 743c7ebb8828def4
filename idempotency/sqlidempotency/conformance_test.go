package sqlidempotency_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/idempotency/idempotencytest"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pools opens two pools on one fresh database, as two processes would.
func pools(t testing.TB, dialect sqlidempotency.Dialect) (a, b *sql.DB) {
	t.Helper()
	var open func() (*sql.DB, error)
	switch dialect {
	case sqlidempotency.Postgres:
		url := servicetest.PostgresURL(t)
		open = func() (*sql.DB, error) { return pgdb.Open(url) }
	case sqlidempotency.MySQL:
		url := servicetest.MariaDBURL(t)
		open = func() (*sql.DB, error) { return mysqldb.Open(url) }
	default:
		path, _ := servicetest.SQLite(t)
		open = func() (*sql.DB, error) {
			return sqlitedb.Open(path, sqlitedb.Config{Synchronous: sqlitedb.Normal})
		}
	}
	for _, db := range []**sql.DB{&a, &b} {
		var err error
		if *db, err = open(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { (*db).Close() })
	}
	return a, b
}

func newStore(t testing.TB, db *sql.DB, cfg sqlidempotency.Config) *sqlidempotency.Store {
	t.Helper()
	s, err := sqlidempotency.New(db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func migrated(t testing.TB, db *sql.DB, cfg sqlidempotency.Config) *sqlidempotency.Store {
	t.Helper()
	s := newStore(t, db, cfg)
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

var dialects = []sqlidempotency.Dialect{sqlidempotency.SQLite, sqlidempotency.Postgres, sqlidempotency.MySQL}

// eachConfig runs a test for every dialect and both layouts.
func eachConfig(t *testing.T, run func(t *testing.T, cfg sqlidempotency.Config)) {
	for _, dialect := range dialects {
		for _, layout := range []sqlidempotency.Layout{sqlidempotency.EventHandled, sqlidempotency.ProcessedEvents} {
			t.Run(fmt.Sprintf("%s/%s", dialect, layout), func(t *testing.T) {
				run(t, sqlidempotency.Config{Dialect: dialect, Layout: layout})
			})
		}
	}
}

func TestConformance(t *testing.T) {
	eachConfig(t, func(t *testing.T, cfg sqlidempotency.Config) {
		idempotencytest.Run(t, func(t *testing.T) idempotencytest.Harness {
			db, peer := pools(t, cfg.Dialect)
			return idempotencytest.Harness{
				Store: migrated(t, db, cfg), Peer: newStore(t, peer, cfg), DB: db,
				Backdate: backdate(db, cfg),
			}
		})
	})
}

func backdate(db *sql.DB, cfg sqlidempotency.Config) func(context.Context, string, time.Duration) error {
	column, where := "handled_at", "idempotency_key = $1"
	if cfg.Layout == sqlidempotency.ProcessedEvents {
		column, where = "processed_at", "consumer_service || ':' || event_id = $1"
	}
	shifted := fmt.Sprintf("%s - $2 * interval '1 second'", column)
	switch cfg.Dialect {
	case sqlidempotency.SQLite:
		shifted = fmt.Sprintf("strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', %s, '-' || $2 || ' seconds')", column)
	case sqlidempotency.MySQL:
		shifted = column + " - INTERVAL ? SECOND"
		if where = "idempotency_key = ?"; cfg.Layout == sqlidempotency.ProcessedEvents {
			where = "CONCAT(consumer_service, ':', event_id) = ?"
		}
	}
	return func(ctx context.Context, key string, by time.Duration) error {
		args := []any{key, int(by.Seconds())}
		if cfg.Dialect == sqlidempotency.MySQL {
			slices.Reverse(args) // its parameters have no numbers
		}
		res, err := db.ExecContext(ctx, fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s", cfg.Layout, column, shifted, where), args...)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); n != 1 || err != nil {
			return fmt.Errorf("%d rows changed, %w", n, err)
		}
		return nil
	}
}
