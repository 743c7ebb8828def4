package sqlcounter_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/counter/countertest"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/sqlcounter"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) {
	redis.SetLogger(redistest.Silence{})
	child()
	goleak.VerifyTestMain(m)
}

// database is a database for tests.
type database struct {
	name string
	sqltx.Dialect
	address func(t testing.TB) string // of a new one: a URL, or a file
}

var (
	onSQLite   = database{"sqlite", sqltx.SQLite, func(t testing.TB) string { path, _ := servicetest.SQLite(t); return path }}
	onPostgres = database{"postgres", sqltx.Postgres, servicetest.PostgresURL}
	databases  = []database{onSQLite, onPostgres, {"mariadb", sqltx.MySQL, servicetest.MariaDBURL}, {"mysql", sqltx.MySQL, servicetest.MySQLURL}}
)

func connect(dialect sqltx.Dialect, address string) (*sql.DB, error) {
	switch dialect {
	case sqltx.Postgres:
		return pgdb.Open(address)
	case sqltx.MySQL:
		return mysqldb.Open(address)
	}
	return sqlitedb.Open(address, sqlitedb.Config{Synchronous: sqlitedb.Normal})
}

// pools opens two pools on one new database, like two processes.
func pools(t testing.TB, on database) (a, b *sql.DB) {
	t.Helper()
	at := on.address(t)
	for _, db := range []**sql.DB{&a, &b} {
		var err error
		if *db, err = connect(on.Dialect, at); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			assert.NoError(t, (*db).Close())
		})
	}
	return a, b
}

func newApplier(t testing.TB, db *sql.DB, cfg sqlcounter.Config) driver.SQLApplier {
	t.Helper()
	a, err := sqlcounter.New(db, cfg)
	require.NoError(t, err)
	return a
}

func migrated(t testing.TB, db *sql.DB, dialect sqltx.Dialect) driver.SQLApplier {
	t.Helper()
	a := newApplier(t, db, sqlcounter.Config{Dialect: dialect})
	require.NoError(t, a.Migrate(t.Context()))
	return a
}

func newLog(t testing.TB, db *sql.DB, name string, dialect sqltx.Dialect) driver.SQLLog {
	t.Helper()
	l, err := sqlcounter.NewLog(db, dialect, name)
	require.NoError(t, err)
	require.NoError(t, l.Migrate(t.Context()))
	return l
}

// each runs a test on every database.
func each(t *testing.T, run func(t *testing.T, on database)) {
	t.Helper()
	for _, on := range databases {
		t.Run(on.name, func(t *testing.T) { run(t, on) })
	}
}

func TestConformance(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		countertest.RunApplier(t, func(t *testing.T) countertest.ApplierHarness {
			db, peer := pools(t, on)
			return countertest.ApplierHarness{
				Applier: migrated(t, db, on.Dialect), Peer: newApplier(t, peer, sqlcounter.Config{Dialect: on.Dialect}),
			}
		})
	})
}

func TestLogConformance(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		countertest.RunSource(t, func(t *testing.T) countertest.SourceHarness {
			db, writer := pools(t, on)
			log := newLog(t, db, "comment", on.Dialect)
			other := newLog(t, db, "like", on.Dialect)
			h := countertest.SourceHarness{Source: log, Append: func(ctx context.Context, changes ...driver.Change) error {
				return sqltx.Do(ctx, writer, func(ctx context.Context, tx *sql.Tx) error {
					// Rows of another counter are between them, and must never be seen.
					if err := other.Append(ctx, tx, driver.Change{Key: "other", N: 1}); err != nil {
						return err
					}
					if err := log.Append(ctx, tx, changes...); err != nil {
						return err
					}
					return other.Append(ctx, tx, driver.Change{Key: "other", N: 1})
				})
			}}
			if on.Dialect != sqltx.SQLite {
				h.Begin = func(ctx context.Context, c driver.Change) (commit, rollback func() error, err error) {
					tx, err := writer.BeginTx(ctx, nil)
					if err != nil {
						return nil, nil, err
					}
					return tx.Commit, tx.Rollback, log.Append(ctx, tx, c)
				}
			}
			return h
		})
	})
}
