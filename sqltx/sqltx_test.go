package sqltx_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/intx"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errWork = errors.New("the work failed")

// open returns a writer and a reader on one file. The reader sees only committed rows, and
// never waits for the writer's only connection.
func open(t *testing.T) (db, reader *sql.DB) {
	t.Helper()
	path, db := servicetest.SQLite(t)
	_, err := db.Exec(`CREATE TABLE n (v INTEGER)`)
	require.NoError(t, err)
	reader, err = sqlitedb.OpenReader(path, sqlitedb.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { reader.Close() })
	return db, reader
}

func count(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRow(`SELECT count(*) FROM n`).Scan(&n))
	return n
}

func insert(ctx context.Context, tx sqltx.Execer) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO n VALUES (1)`)
	return err
}

// within bounds tests that would, with a bug, wait for SQLite's only connection.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestDoCommits(t *testing.T) {
	db, reader := open(t)
	ctx := within(t)
	err := sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		got, ok := intx.From(ctx)
		if !ok || got != tx {
			t.Error("the context does not carry the transaction")
		}
		return insert(ctx, got)
	})
	if err != nil || count(t, reader) != 1 {
		t.Errorf("Do = %v with %d rows, want nil with 1", err, count(t, reader))
	}
	if _, ok := intx.From(ctx); ok {
		t.Error("the outer context carries a transaction")
	}
}

func TestDoRollsBack(t *testing.T) {
	db, reader := open(t)
	err := sqltx.Do(within(t), db, func(ctx context.Context, tx *sql.Tx) error {
		return errors.Join(insert(ctx, tx), errWork)
	})
	if !errors.Is(err, errWork) || count(t, reader) != 0 {
		t.Errorf("Do = %v with %d rows, want the work's error with none", err, count(t, reader))
	}
	assert.Equal(t, 0, db.Stats().InUse, "connections still in use")
}

func TestDoPanics(t *testing.T) {
	db, reader := open(t)
	func() {
		defer func() {
			if p := recover(); p != "boom" {
				t.Errorf("recovered %v, want the handler's own panic", p)
			}
		}()
		_ = sqltx.Do(within(t), db, func(ctx context.Context, tx *sql.Tx) error {
			assert.NoError(t, insert(ctx, tx))
			panic("boom")
		})
		t.Error("Do swallowed the panic")
	}()
	if n, used := count(t, reader), db.Stats().InUse; n != 0 || used != 0 {
		t.Errorf("%d rows and %d connections are left after a panic", n, used)
	}
}

func TestDoBeginFails(t *testing.T) {
	db, _ := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := sqltx.Do(ctx, db, func(context.Context, *sql.Tx) error {
		t.Error("fn ran without a transaction")
		return nil
	})
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "sqltx: begin: ") {
		t.Errorf("Do on a done context = %v", err)
	}
}

func TestHooksRunAfterCommit(t *testing.T) {
	db, reader := open(t)
	var ran []string
	hook := func(name string) func() {
		return func() {
			if n := count(t, reader); n != 2 {
				t.Errorf("hook %s sees %d committed rows, want 2", name, n)
			}
			ran = append(ran, name)
		}
	}
	err := sqltx.Do(within(t), db, func(ctx context.Context, tx *sql.Tx) error {
		sqltx.AfterCommit(ctx, hook("first"))
		if err := insert(ctx, tx); err != nil {
			return err
		}
		err := sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
			assert.True(t, sqltx.AfterCommit(ctx, hook("nested")), "AfterCommit refused inside a transaction")
			return insert(ctx, tx)
		})
		sqltx.AfterCommit(ctx, hook("last"))
		assert.Empty(t, ran, "ran before the commit")
		return err
	})
	if want := []string{"first", "nested", "last"}; err != nil || !slices.Equal(ran, want) {
		t.Errorf("Do = %v, hooks %v; want nil, %v", err, ran, want)
	}
	if sqltx.AfterCommit(t.Context(), func() { t.Error("a hook without a transaction ran") }) {
		t.Error("AfterCommit accepted a hook without a transaction")
	}
}

func TestHookPanics(t *testing.T) {
	db, reader := open(t)
	second := false
	func() {
		defer func() {
			if p := recover(); p != "hook" {
				t.Errorf("recovered %v, want the hook's panic", p)
			}
		}()
		_ = sqltx.Do(within(t), db, func(ctx context.Context, tx *sql.Tx) error {
			sqltx.AfterCommit(ctx, func() { panic("hook") })
			sqltx.AfterCommit(ctx, func() { second = true })
			return insert(ctx, tx)
		})
	}()
	if !second || count(t, reader) != 1 {
		t.Errorf("second hook ran: %v, rows %d; want true, 1", second, count(t, reader))
	}
}

func TestHooksDroppedOnRollback(t *testing.T) {
	db, reader := open(t)
	bad := func() { t.Error("a hook ran although nothing was committed") }
	err := sqltx.Do(within(t), db, func(ctx context.Context, _ *sql.Tx) error {
		sqltx.AfterCommit(ctx, bad)
		return errWork
	})
	assert.ErrorIs(t, err, errWork, "Do =")
	// A deferred constraint makes COMMIT itself fail.
	for _, q := range []string{
		`CREATE TABLE p (id INTEGER PRIMARY KEY)`,
		`CREATE TABLE c (p INTEGER REFERENCES p (id) DEFERRABLE INITIALLY DEFERRED)`,
	} {
		_, err := db.Exec(q)
		require.NoError(t, err)
	}
	err = sqltx.Do(within(t), db, func(ctx context.Context, tx *sql.Tx) error {
		sqltx.AfterCommit(ctx, bad)
		if err := insert(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO c VALUES (99)`)
		return err
	})
	if err == nil || !strings.HasPrefix(err.Error(), "sqltx: commit: ") || count(t, reader) != 0 {
		t.Errorf("Do = %v with %d rows, want a failed commit with none", err, count(t, reader))
	}
	// The context ends before COMMIT.
	ctx, cancel := context.WithCancel(t.Context())
	err = sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		sqltx.AfterCommit(ctx, bad)
		defer cancel()
		return insert(ctx, tx)
	})
	if !errors.Is(err, context.Canceled) || count(t, reader) != 0 {
		t.Errorf("Do = %v with %d rows, want a cancelled commit with none", err, count(t, reader))
	}
}

func TestNestedJoins(t *testing.T) {
	db, reader := open(t) // one connection: a second transaction would wait for ever
	err := sqltx.Do(within(t), db, func(ctx context.Context, outer *sql.Tx) error {
		if err := insert(ctx, outer); err != nil {
			return err
		}
		err := sqltx.Do(ctx, db, func(ctx context.Context, inner *sql.Tx) error {
			if inner != outer {
				t.Error("the nested Do began a transaction of its own")
			}
			return insert(ctx, inner)
		})
		if n := count(t, reader); n != 0 {
			t.Errorf("the nested Do committed %d rows by itself", n)
		}
		return err
	})
	if err != nil || count(t, reader) != 2 {
		t.Errorf("Do = %v with %d rows, want nil with 2", err, count(t, reader))
	}
}

func TestTwoDatabases(t *testing.T) {
	a, readerA := open(t)
	b, readerB := open(t)
	hooked := 0
	err := sqltx.Do(within(t), a, func(ctx context.Context, txA *sql.Tx) error {
		return sqltx.Do(ctx, b, func(ctx context.Context, txB *sql.Tx) error {
			if got, _ := intx.From(ctx); got != txB {
				t.Error("intx.From is not the innermost transaction")
			}
			err := sqltx.Do(ctx, a, func(ctx context.Context, again *sql.Tx) error {
				if got, _ := intx.From(ctx); again != txA || got != txA {
					t.Error("the innermost Do did not join the outer transaction on its database")
				}
				onA, _ := sqltx.On(ctx, a)
				onB, _ := sqltx.On(ctx, b)
				if _, ok := sqltx.On(ctx, readerA); onA != txA || onB != txB || ok {
					t.Error("On does not find the transaction of its database, and only that")
				}
				sqltx.AfterCommit(ctx, func() { hooked = count(t, readerA) })
				return insert(ctx, again)
			})
			return errors.Join(err, insert(ctx, txB))
		})
	})
	if err != nil || count(t, readerA) != 1 || count(t, readerB) != 1 || hooked != 1 {
		t.Errorf("Do = %v, rows %d and %d, hook saw %d; want nil, 1, 1, 1", err, count(t, readerA), count(t, readerB), hooked)
	}
}

func TestNestedErrorDooms(t *testing.T) {
	db, reader := open(t)
	fail := map[string]func(ctx context.Context) error{
		"error": func(ctx context.Context) error {
			return sqltx.Do(ctx, db, func(context.Context, *sql.Tx) error { return errWork })
		},
		"panic": func(ctx context.Context) error {
			defer func() { _ = recover() }()
			return sqltx.Do(ctx, db, func(context.Context, *sql.Tx) error { panic(errWork) })
		},
	}
	for name, nested := range fail {
		err := sqltx.Do(within(t), db, func(ctx context.Context, tx *sql.Tx) error {
			sqltx.AfterCommit(ctx, func() { t.Errorf("%s: a hook of a doomed transaction ran", name) })
			_ = nested(ctx) // swallowed on the way
			return insert(ctx, tx)
		})
		if !errors.Is(err, sqltx.ErrDoomed) || count(t, reader) != 0 {
			t.Errorf("%s: Do = %v with %d rows, want ErrDoomed with none", name, err, count(t, reader))
		}
		if name == "error" && !errors.Is(err, errWork) {
			t.Errorf("%v hides what doomed it", err)
		}
	}
}

func TestEndedContext(t *testing.T) {
	db, reader := open(t)
	var kept context.Context
	var late bool
	err := sqltx.Do(within(t), db, func(ctx context.Context, tx *sql.Tx) error {
		kept = ctx
		sqltx.AfterCommit(ctx, func() { late = sqltx.AfterCommit(ctx, func() {}) })
		return insert(ctx, tx)
	})
	require.NoError(t, err)
	if late || sqltx.AfterCommit(kept, func() {}) {
		t.Error("AfterCommit took a hook that nobody will run")
	}
	err = sqltx.Do(kept, db, func(context.Context, *sql.Tx) error {
		t.Error("fn ran in a transaction that has ended")
		return nil
	})
	if !errors.Is(err, sqltx.ErrEnded) || count(t, reader) != 1 {
		t.Errorf("Do on an ended context = %v, want ErrEnded", err)
	}
	// A failed transaction ends as well.
	_ = sqltx.Do(within(t), db, func(ctx context.Context, _ *sql.Tx) error { kept = ctx; return errWork })
	assert.ErrorIs(t, sqltx.Do(kept, db, func(context.Context, *sql.Tx) error { return nil }), sqltx.ErrEnded, "Do on a rolled back context =")
}

func TestWithOptions(t *testing.T) {
	db := servicetest.Postgres(t)
	err := sqltx.Do(within(t), db, func(ctx context.Context, tx *sql.Tx) error {
		var level, readOnly string
		if err := tx.QueryRowContext(ctx, `SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only')`).
			Scan(&level, &readOnly); err != nil {
			return err
		}
		if level != "serializable" || readOnly != "on" {
			t.Errorf("isolation %s, read only %s; want serializable, on", level, readOnly)
		}
		return nil
	}, sqltx.Options{Isolation: sql.LevelSerializable, ReadOnly: true})
	assert.NoError(t, err)
}
