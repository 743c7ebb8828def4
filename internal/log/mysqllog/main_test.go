package mysqllog_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logtest"
	"github.com/millrace-go/millrace/internal/log/mysqllog"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var tables = sqllog.Tables{Messages: "log_messages", Cursors: "log_cursors", Package: "test"}

func TestSuite(t *testing.T) { servicetest.EachMySQL(t, testSuite) }

func testSuite(t *testing.T, server servicetest.MySQLServer) {
	logtest.Run(t, func(t testing.TB, tables sqllog.Tables) (sqllog.Log, *sql.DB) {
		return openWith(t, tables, server.DB(t))
	})
}

func open(t testing.TB) (*mysqllog.Log, *sql.DB) {
	t.Helper()
	return openWith(t, tables, servicetest.Chosen(t).DB(t))
}

func openWith(t testing.TB, tables sqllog.Tables, db *sql.DB) (*mysqllog.Log, *sql.DB) {
	t.Helper()
	l, err := mysqllog.New(db, tables)
	require.NoError(t, err)
	logtest.Migrate(t, l, db)
	return l, db
}

func entries(lane int, ids ...string) []log.Entry {
	out := make([]log.Entry, len(ids))
	for i, id := range ids {
		out[i] = log.Entry{Lane: lane, Topic: "t", MessageID: id, Key: "k", Payload: []byte("p")}
	}
	return out
}

func add(t testing.TB, l *mysqllog.Log, db *sql.DB, lane int, ids ...string) {
	t.Helper()
	err := sqltx.Do(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
		return l.Append(ctx, tx, entries(lane, ids...))
	})
	require.NoError(t, err)
}

func begin(t testing.TB, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.Begin()
	require.NoError(t, err)
	t.Cleanup(func() { tx.Rollback() }) //nolint:errcheck // a test's end
	return tx
}

func commit(t testing.TB, tx *sql.Tx) {
	t.Helper()
	require.NoError(t, tx.Commit())
}

// want reads once and compares.
func want(t testing.TB, l *mysqllog.Log, lane int, after log.Position, ids ...string) log.Position {
	t.Helper()
	page, next, err := l.Read(t.Context(), lane, after, 100)
	require.NoError(t, err)
	require.Lenf(t, page, len(ids), "read %d entries, want %q", len(page), ids)
	for i, e := range page {
		require.Equalf(t, ids[i], e.MessageID, "entry %d is %s, want %q", i, e.MessageID, ids)
	}
	return next
}
