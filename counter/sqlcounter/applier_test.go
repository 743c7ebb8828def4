package sqlcounter_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/sqlcounter"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/migrations"
	"github.com/millrace-go/millrace/sqltx"
)

func TestNewChecks(t *testing.T) {
	_, db := servicetest.SQLite(t)
	for want, err := range map[string]error{
		"db is nil":       second(sqlcounter.New(nil, sqlcounter.Config{Dialect: sqltx.SQLite})),
		"Config.Dialect":  second(sqlcounter.New(db, sqlcounter.Config{})),
		"db is nil; open": second(sqlcounter.NewLog(nil, sqltx.SQLite, "comment")),
		"the name":        second(sqlcounter.NewLog(db, sqltx.SQLite, "a:b")),
		"the dialect is":  second(sqlcounter.NewLog(db, "oracle", "comment")),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want an error about %s", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestColumns: the names are a contract, because other programs read these tables.
func TestColumns(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db, _ := pools(t, on)
		a, ctx := migrated(t, db, on.Dialect), t.Context()
		l, err := a.Lease(ctx, "comment", "me", time.Hour)
		require.NoError(t, err)
		b := driver.Batch{ID: "b1", To: "p1", Rows: 7, Deltas: []driver.Delta{{Key: "post-1", N: 5}}}
		_, err = a.Apply(ctx, l, b)
		require.NoError(t, err)
		var texts [5]string
		var total, rows int64
		var updated, applied any
		err = db.QueryRowContext(ctx, `SELECT counter, counter_key, total, updated_at FROM count_totals`).Scan(&texts[0], &texts[1], &total, &updated)
		if err != nil || texts[0] != "comment" || texts[1] != "post-1" || total != 5 {
			t.Errorf("count_totals: %q %d (%v)", texts, total, err)
		}
		err = db.QueryRowContext(ctx, `SELECT batch_id, counter, processed_from, processed_to, row_count, applied_at FROM count_batches`).
			Scan(&texts[0], &texts[1], &texts[2], &texts[3], &rows, &applied)
		if err != nil || strings.Join(texts[:4], "|") != "b1|comment||p1" || rows != 7 {
			t.Errorf("count_batches: %q %d (%v)", texts, rows, err)
		}
	})
}

func TestMigrations(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db, _ := pools(t, on)
		a, l := migrated(t, db, on.Dialect), newLog(t, db, "comment", on.Dialect)
		for range 2 { // again
			require.NoError(t, a.Migrate(t.Context()))
			require.NoError(t, l.Migrate(t.Context()))
		}
		for table, m := range map[string]migrations.Migrator{"count_batches": a, "count_changes": l} {
			var script bytes.Buffer
			if err := m.PrintMigrations(&script); err != nil || !strings.Contains(script.String(), table) {
				t.Errorf("script without %s (%v)", table, err)
			}
			sets, err := m.Migrations()
			require.NoError(t, err)
			if names, err := fs.Glob(sets[0].FS, "0001_*.sql"); err != nil || len(names) != 1 {
				t.Errorf("files %q (%v)", names, err)
			}
		}
	})
}

// TestAlso: the changes of Also commit with the totals or not at all.
func TestAlso(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db, _ := pools(t, on)
		migrated(t, db, on.Dialect)
		ctx := t.Context()
		if _, err := db.ExecContext(ctx, `CREATE TABLE posts (id VARCHAR(20) PRIMARY KEY, comments BIGINT NOT NULL)`); err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(ctx, `INSERT INTO posts VALUES ('post-1', 0)`); err != nil {
			t.Fatal(err)
		}
		refuse := errors.New("refused")
		var fail error
		a := newApplier(t, db, sqlcounter.Config{Dialect: on.Dialect,
			Also: func(ctx context.Context, tx *sql.Tx, name string, deltas []driver.Delta) error {
				if name != "comment" || len(deltas) != 1 {
					t.Errorf("called with %s, %v", name, deltas)
				}
				_, err := tx.ExecContext(ctx, `UPDATE posts SET comments = comments + 3 WHERE id = 'post-1'`)
				return errors.Join(err, fail)
			}})
		l, err := a.Lease(ctx, "comment", "me", time.Hour)
		require.NoError(t, err)
		b := driver.Batch{ID: "b1", Rows: 1, Deltas: []driver.Delta{{Key: "post-1", N: 3}}}
		want := int64(0)
		for _, fail = range []error{refuse, nil, nil} {
			if _, err := a.Apply(ctx, l, b); !errors.Is(err, fail) {
				t.Fatalf("Apply = %v, want %v", err, fail)
			}
			if fail == nil {
				want = 3
			}
			var column int64
			require.NoError(t, db.QueryRowContext(ctx, `SELECT comments FROM posts`).Scan(&column))
			totals, err := a.Totals(ctx, "comment", []string{"post-1"})
			if err != nil || column != want || totals["post-1"] != want {
				t.Errorf("column %d, total %d (%v); want %d", column, totals["post-1"], err, want)
			}
		}
	})
}

// TestIgnoredDeadlock: after a deadlock that an Also ignored, no part of the batch is committed
// on MySQL.
func TestIgnoredDeadlock(t *testing.T) { servicetest.EachMySQL(t, testIgnoredDeadlock) }

func testIgnoredDeadlock(t *testing.T, server servicetest.MySQLServer) {
	db := server.DB(t)
	migrated(t, db, sqltx.MySQL)
	ctx := t.Context()
	a := newApplier(t, db, sqlcounter.Config{Dialect: sqltx.MySQL,
		// The server does the same to a deadlock's victim as this ROLLBACK behind the driver's
		// back.
		Also: func(ctx context.Context, tx *sql.Tx, _ string, _ []driver.Delta) error {
			_, err := tx.ExecContext(ctx, `ROLLBACK`)
			return err
		}})
	l, err := a.Lease(ctx, "comment", "me", time.Hour)
	require.NoError(t, err)
	_, err = a.Apply(ctx, l, driver.Batch{ID: "b1", To: "p1", Rows: 1, Deltas: []driver.Delta{{Key: "a", N: 1}}})
	if err == nil || !strings.Contains(err.Error(), "rolled the transaction back") {
		t.Errorf("Apply = %v", err)
	}
	again, err := a.Lease(ctx, "comment", "me", time.Hour)
	if err != nil || again.Position != "" {
		t.Errorf("position %q (%v)", again.Position, err)
	}
}
