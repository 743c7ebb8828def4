package sqlitedb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/sqlitedb"
)

// A statement in use is not run again: a second run of the same text has its own, and both are
// correct, in any order of their ends.
func TestOneTextTwiceAtOnce(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a.db"), sqlitedb.Config{})
	mustExec(t, db, `CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1), (2), (3);`)
	tx, err := db.Begin()
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // nothing was written
	const query = "SELECT n FROM t WHERE n >= ? ORDER BY n;\n"
	for range 3 {
		first, err := tx.Query(query, 1)
		require.NoError(t, err)
		var got []int
		for first.Next() {
			var n, below int
			require.NoError(t, first.Scan(&n))
			require.NoError(t, tx.QueryRow(query, 3).Scan(&below))
			got = append(got, n, below)
		}
		require.NoError(t, errors.Join(first.Err(), first.Close(), first.Close()))
		require.Equal(t, []int{1, 3, 2, 3, 3, 3}, got, "read")
	}
}

// A statement outlives changes of its tables, and errors, including its own.
func TestStatementsOutliveChanges(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a.db"), sqlitedb.Config{})
	columns := func() int {
		t.Helper()
		rows, err := db.Query(`SELECT * FROM t`)
		require.NoError(t, err)
		defer rows.Close() //nolint:errcheck // Err tells
		names, err := rows.Columns()
		require.NoError(t, err)
		for rows.Next() {
			into := make([]any, len(names))
			for i := range into {
				into[i] = new(any)
			}
			require.NoError(t, rows.Scan(into...))
		}
		require.NoError(t, rows.Err())
		return len(names)
	}
	const insert = `INSERT INTO t (id) VALUES (?)`
	mustExec(t, db, `CREATE TABLE t (id INTEGER PRIMARY KEY)`)
	mustExec(t, db, insert, 1)
	require.Equal(t, 1, columns(), "columns")
	for range 2 {
		if _, err := db.Exec(insert, 1); !sqlitedb.IsUnique(err) {
			t.Fatalf("the same once more: %v", err)
		}
	}
	mustExec(t, db, `ALTER TABLE t ADD COLUMN text TEXT`)
	require.Equal(t, 2, columns(), "columns after one was added")
	mustExec(t, db, `DROP TABLE t`)
	if _, err := db.Exec(insert, 2); err == nil {
		t.Fatal("a table that is gone was written")
	}
	mustExec(t, db, `CREATE TABLE t (id INTEGER PRIMARY KEY, a, b)`)
	mustExec(t, db, insert, 2)
	require.Equal(t, 3, columns(), "columns of the new table")
	// An interrupted run leaves a statement that works.
	ctx, cancel := context.WithCancel(t.Context())
	rows, err := db.QueryContext(ctx, `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c`)
	require.NoError(t, err)
	rows.Next()
	cancel()
	for rows.Next() {
	}
	assert.ErrorIs(t, errors.Join(rows.Err(), rows.Close()), context.Canceled, "broken off")
	mustExec(t, db, insert, 3)
}

// More texts than a connection keeps all work, and work again.
func TestManyStatements(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a.db"), sqlitedb.Config{})
	for range 2 {
		for i := range 500 {
			var n int
			if err := db.QueryRow(fmt.Sprintf(`SELECT %d + ?`, i), 1).Scan(&n); err != nil || n != i+1 {
				t.Fatalf("%d and 1 are %d (%v)", i, n, err)
			}
		}
	}
}

func BenchmarkShortStatement(b *testing.B) {
	db, err := sqlitedb.Open(filepath.Join(b.TempDir(), "a.db"), sqlitedb.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE t (id INTEGER PRIMARY KEY, consumer TEXT, lane INTEGER, holder TEXT, UNIQUE (consumer, lane))`); err != nil {
		b.Fatal(err)
	}
	var holder sql.NullString
	for b.Loop() {
		err := db.QueryRow(`SELECT max(holder) FROM t WHERE consumer = ? AND lane = ? AND holder <> ?`, "c", 1, "h").Scan(&holder)
		if err != nil {
			b.Fatal(err)
		}
	}
}
