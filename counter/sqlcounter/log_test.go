package sqlcounter_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/sqlcounter"
	"github.com/millrace-go/millrace/sqltx"
)

func changes(t *testing.T, db *sql.DB) int {
	t.Helper()
	var n int
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM count_changes`).Scan(&n))
	return n
}

// add appends changes in their own transaction.
func add(t *testing.T, db *sql.DB, l driver.SQLLog, changes ...driver.Change) error {
	t.Helper()
	return sqltx.Do(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error { return l.Append(ctx, tx, changes...) })
}

func TestAppendNeedsATransaction(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db, _ := pools(t, on)
		l := newLog(t, db, "comment", on.Dialect)
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		for name, x := range map[string]sqltx.Execer{"a pool": db, "a pool's wrapper": struct{ *sql.DB }{db}, "a connection": conn, "nothing": nil} {
			if err := l.Append(t.Context(), x, driver.Change{Key: "a", N: 1}); !errors.Is(err, sqltx.ErrNoTransaction) {
				t.Errorf("Append to %s: %v, want ErrNoTransaction", name, err)
			}
		}
		require.NoError(t, conn.Close())
		assert.Equal(t, 0, changes(t, db), "rows were written")
	})
}

// TestTrim: rows are trimmed when both counters of the log have applied them, and not before.
func TestTrim(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db, _ := pools(t, on)
		ctx := t.Context()
		logs := []driver.SQLLog{newLog(t, db, "comment", on.Dialect), newLog(t, db, "like", on.Dialect)}
		for _, l := range logs {
			require.NoError(t, add(t, db, l, driver.Change{Key: "a", N: 1}, driver.Change{Key: "b", N: 1}))
		}
		for i, l := range logs {
			got, at, err := l.Read(ctx, "", 10)
			if err != nil || len(got) != 2 {
				t.Fatalf("read %v (%v)", got, err)
			}
			_, err = l.Trim(ctx, at, 0, 1000)
			require.NoError(t, err)
			if n := changes(t, db); n != 4-4*i {
				t.Errorf("%d rows are left when %d of 2 counters are done", n, i+1)
			}
		}
	})
}

// TestReadGoesOnBehindOthers: a full page of another counter's changes is not the end, and pages
// stay full however few changes are missing.
func TestReadGoesOnBehindOthers(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db, _ := pools(t, on)
		mine, other := newLog(t, db, "comment", on.Dialect), newLog(t, db, "like", on.Dialect)
		for i := range 26 {
			l, key := other, "x"
			switch i {
			case 0, 1, 22, 24:
				l, key = mine, string(rune('a'+i))
			}
			require.NoError(t, add(t, db, l, driver.Change{Key: key, N: 1}))
		}
		log, at := sqlcounter.Count(mine), ""
		for _, want := range []string{"[{a 1} {b 1} {w 1}]", "[{y 1}]", "[]"} {
			var got []driver.Change
			var err error
			if got, at, err = mine.Read(t.Context(), at, 3); err != nil || fmt.Sprint(got) != want {
				t.Errorf("read %v (%v), want %s", got, err, want)
			}
		}
		if log.Reads > 14 {
			t.Errorf("26 rows took %d reads of 3", log.Reads)
		}
	})
}

// TestReadGoesOnInItsWindow: PostgreSQL's log returns what it has when a later statement fails.
func TestReadGoesOnInItsWindow(t *testing.T) {
	db, _ := pools(t, onPostgres)
	l := newLog(t, db, "comment", sqltx.Postgres)
	require.NoError(t, add(t, db, l, driver.Change{Key: "a", N: 1}, driver.Change{Key: "b", N: 1}))
	sqlcounter.Count(l).Cut = true
	if got, _, err := l.Read(t.Context(), "", 3); err != nil || len(got) != 2 {
		t.Errorf("read %v (%v), want both", got, err)
	}
}

func TestForeignPosition(t *testing.T) {
	db, _ := pools(t, onSQLite)
	l := newLog(t, db, "comment", sqltx.SQLite)
	if _, _, err := l.Read(t.Context(), "nonsense", 3); err == nil || !strings.Contains(err.Error(), "position") {
		t.Errorf("%v", err)
	}
}

// TestRestoredElsewhere: a position of another PostgreSQL is invalid, and is refused.
func TestRestoredElsewhere(t *testing.T) {
	db, peer := pools(t, onPostgres)
	ctx := t.Context()
	newLog(t, db, "comment", sqltx.Postgres)
	_, err := db.ExecContext(ctx, `UPDATE count_cursors SET system_id = system_id - 1`)
	require.NoError(t, err)
	l, err := sqlcounter.NewLog(peer, sqltx.Postgres, "comment")
	require.NoError(t, err)
	if _, _, err := l.Read(ctx, "", 3); err == nil || !strings.Contains(err.Error(), "another database system") {
		t.Errorf("%v", err)
	}
}
