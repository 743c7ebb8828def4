package sqltx_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

// eachServer runs a test on servers where transactions really conflict, on a table of two
// counters that begin at 0. set writes one of the counters.
func eachServer(t *testing.T, run func(t *testing.T, db *sql.DB, set string)) {
	t.Run("postgres", func(t *testing.T) {
		run(t, counters(t, servicetest.Postgres(t)), `UPDATE counters SET n = $1 WHERE id = $2`)
	})
	servicetest.EachMySQL(t, func(t *testing.T, server servicetest.MySQLServer) {
		run(t, counters(t, server.DB(t)), `UPDATE counters SET n = ? WHERE id = ?`)
	})
}

func counters(t *testing.T, db *sql.DB) *sql.DB {
	t.Helper()
	for _, q := range []string{
		`CREATE TABLE counters (id INT PRIMARY KEY, n INT NOT NULL)`, `INSERT INTO counters VALUES (1, 0), (2, 0)`,
	} {
		_, err := db.Exec(q)
		require.NoError(t, err)
	}
	return db
}

var serializable = sqltx.Options{Isolation: sql.LevelSerializable}

func read(ctx context.Context, tx *sql.Tx, id int) (n int, err error) {
	err = tx.QueryRowContext(ctx, map[int]string{
		1: `SELECT n FROM counters WHERE id = 1`, 2: `SELECT n FROM counters WHERE id = 2`}[id]).Scan(&n)
	return n, err
}

func add(ctx context.Context, tx *sql.Tx, id int) error {
	_, err := tx.ExecContext(ctx, map[int]string{
		1: `UPDATE counters SET n = n + 1 WHERE id = 1`, 2: `UPDATE counters SET n = n + 1 WHERE id = 2`}[id])
	return err
}

func expectCounters(t *testing.T, db *sql.DB, first, second int) {
	t.Helper()
	var a, b int
	require.NoError(t, db.QueryRow(`SELECT (SELECT n FROM counters WHERE id = 1), (SELECT n FROM counters WHERE id = 2)`).Scan(&a, &b))
	if a != first || b != second {
		t.Errorf("the counters are %d and %d, want %d and %d", a, b, first, second)
	}
}

// TestConflictAtCommit: PostgreSQL finds at COMMIT that each of two transactions has read a row
// that the other wrote.
func TestConflictAtCommit(t *testing.T) {
	db := counters(t, servicetest.Postgres(t))
	for _, attempts := range []int{1, 20} {
		_, err := db.Exec(`UPDATE counters SET n = 0`)
		require.NoError(t, err)
		runs := 0
		err = sqltx.Do(within(t), db, func(ctx context.Context, tx *sql.Tx) error {
			runs++
			_, err := read(ctx, tx, 2)
			if err := errors.Join(err, add(ctx, tx, 1)); err != nil || runs > 1 {
				return err
			}
			// This is another transaction, since the context carries none.
			return sqltx.Do(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
				_, err := read(ctx, tx, 1)
				return errors.Join(err, add(ctx, tx, 2))
			}, serializable)
		}, sqltx.Options{Isolation: sql.LevelSerializable, Attempts: attempts})
		if attempts == 1 {
			if !sqltx.IsConflict(err) || !strings.HasPrefix(err.Error(), "sqltx: commit: ") {
				t.Errorf("without a repetition: %v; want a serialization failure at COMMIT", err)
			}
			expectCounters(t, db, 0, 1)
			continue
		}
		if err != nil || runs != 2 {
			t.Errorf("Do = %v after %d runs, want nil after 2", err, runs)
		}
		expectCounters(t, db, 1, 1)
	}
}

// TestDeadlock: two transactions lock the counters in opposite orders.
func TestDeadlock(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB, _ string) {
		for _, attempts := range []int{1, 20} {
			_, err := db.Exec(`UPDATE counters SET n = 0`)
			require.NoError(t, err)
			var both, wg sync.WaitGroup
			both.Add(2)
			var runs, conflicts atomic.Int32
			for first := 1; first <= 2; first++ {
				wg.Go(func() {
					own := 0
					err := sqltx.Do(within(t), db, func(ctx context.Context, tx *sql.Tx) error {
						runs.Add(1)
						if err := add(ctx, tx, first); err != nil {
							return err
						}
						if own++; own == 1 {
							both.Done()
							both.Wait()
						}
						return add(ctx, tx, 3-first)
					}, sqltx.Options{Attempts: attempts})
					if sqltx.IsConflict(err) {
						conflicts.Add(1)
					} else if err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if attempts == 1 {
				assert.EqualValues(t, 1, conflicts.Load(), "conflicts without a repetition")
				continue
			}
			if conflicts.Load() != 0 || runs.Load() < 3 {
				t.Errorf("%d conflicts after %d runs, want none after 3 or more", conflicts.Load(), runs.Load())
			}
			expectCounters(t, db, 2, 2)
		}
	})
}

// TestCrossedCounters: many writers at SERIALIZABLE increment both counters, in opposite
// orders. No writer fails, and no update is lost.
func TestCrossedCounters(t *testing.T) {
	const writers, rounds = 4, 15
	eachServer(t, func(t *testing.T, db *sql.DB, set string) {
		var runs atomic.Int32
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				a := 1 + w%2
				for range rounds {
					err := sqltx.Do(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
						runs.Add(1)
						for _, id := range []int{a, 3 - a} {
							n, err := read(ctx, tx, id)
							if err != nil {
								return err
							}
							if _, err := tx.ExecContext(ctx, set, n+1, id); err != nil {
								return err
							}
						}
						return nil
					}, serializable)
					assert.NoError(t, err)
				}
			})
		}
		wg.Wait()
		t.Logf("%d transactions took %d runs", writers*rounds, runs.Load())
		if runs.Load() == writers*rounds {
			t.Error("no transaction met another one: the test has shown nothing")
		}
		expectCounters(t, db, writers*rounds, writers*rounds)
	})
}

// TestPoolOfOne: on a pool of one connection, a request for a second one would wait for ever.
func TestPoolOfOne(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB, _ string) {
		db.SetMaxOpenConns(1)
		next := failing(2, onPostgres("40001"))
		err := sqltx.Do(within(t), db, func(ctx context.Context, tx *sql.Tx) error {
			err := sqltx.Do(ctx, db, func(ctx context.Context, inner *sql.Tx) error {
				if inner != tx {
					t.Error("the nested Do began a transaction of its own")
				}
				return add(ctx, inner, 1)
			})
			return errors.Join(err, add(ctx, tx, 2), next())
		})
		if err != nil || db.Stats().InUse != 0 {
			t.Errorf("Do = %v with %d connections in use, want nil with none", err, db.Stats().InUse)
		}
		expectCounters(t, db, 1, 1)
	})
}
