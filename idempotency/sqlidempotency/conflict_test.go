package sqlidempotency_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

// counters creates two counters at 0 in db, which from now on uses serializable transactions,
// on the given number of connections.
func counters(t *testing.T, db *sql.DB, dialect sqltx.Dialect, connections int) {
	t.Helper()
	exec := func(x sqltx.Execer, query string) {
		t.Helper()
		_, err := x.ExecContext(t.Context(), query)
		require.NoError(t, err)
	}
	exec(db, `CREATE TABLE IF NOT EXISTS counters (id INT PRIMARY KEY, n INT NOT NULL)`)
	exec(db, `DELETE FROM counters`)
	exec(db, `INSERT INTO counters VALUES (1, 0), (2, 0)`)
	set := map[sqltx.Dialect]string{
		sqltx.Postgres: `SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE`,
		sqltx.MySQL:    `SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE`,
		sqltx.SQLite:   `SELECT 1`, // SQLite has no other isolation level
	}[dialect]
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	held := make([]*sql.Conn, connections)
	for i := range held {
		var err error
		if held[i], err = db.Conn(t.Context()); err != nil {
			t.Fatal(err)
		}
		exec(held[i], set)
	}
	for _, c := range held {
		require.NoError(t, c.Close())
	}
}

func readCounter(ctx context.Context, tx *sql.Tx, id int) (n int, err error) {
	err = tx.QueryRowContext(ctx, fmt.Sprintf(`SELECT n FROM counters WHERE id = %d`, id)).Scan(&n)
	return n, err
}

func writeCounter(ctx context.Context, tx *sql.Tx, id, n int) error {
	_, err := tx.ExecContext(ctx, fmt.Sprintf(`UPDATE counters SET n = %d WHERE id = %d`, n, id))
	return err
}

// addCounter does not write after a failed read: on MySQL that write would be outside the
// transaction.
func addCounter(ctx context.Context, tx *sql.Tx, id int) error {
	n, err := readCounter(ctx, tx, id)
	if err != nil {
		return err
	}
	return writeCounter(ctx, tx, id, n+1)
}

func expectCounters(t *testing.T, db *sql.DB, want int) {
	t.Helper()
	var a, b int
	require.NoError(t, db.QueryRow(`SELECT (SELECT n FROM counters WHERE id = 1), (SELECT n FROM counters WHERE id = 2)`).Scan(&a, &b))
	if a != want || b != want {
		t.Errorf("the counters are %d and %d, want %d", a, b, want)
	}
}

func eventOf(t *testing.T, number int) event.Event {
	t.Helper()
	e, err := event.New("Sold", "shop", []byte(`{}`))
	require.NoError(t, err)
	e.ID = fmt.Sprintf("00000000-0000-7000-8000-%012d", number)
	return e
}

// TestCrossedHandlers: handlers at SERIALIZABLE increment both counters, in opposite orders;
// each event is delivered twice, by two processes at once. No delivery may fail: three failures
// in a row would be a dead letter.
func TestCrossedHandlers(t *testing.T) {
	const events, workers = 30, 2 // of each process
	eachDatabase(t, func(t *testing.T, on database) {
		a, b := pools(t, on)
		var runs, fresh atomic.Int32
		var wg sync.WaitGroup
		cfg := sqlidempotency.Config{Dialect: on.Dialect}
		migrated(t, a, cfg)
		for _, db := range []*sql.DB{a, b} {
			counters(t, db, on.Dialect, map[bool]int{true: 1, false: workers}[on.Dialect == sqltx.SQLite])
		}
		for _, db := range []*sql.DB{a, b} {
			guard, err := idempotency.New[*sql.Tx](newStore(t, db, cfg), idempotency.Config{Group: "stats"})
			require.NoError(t, err)
			queue := make(chan event.Event, events)
			for i := range events {
				queue <- eventOf(t, i)
			}
			close(queue)
			for w := range workers {
				first := 1 + w%2
				wg.Go(func() {
					for e := range queue {
						ok, err := guard.Do(t.Context(), e, func(ctx context.Context, tx *sql.Tx) error {
							runs.Add(1)
							for _, id := range []int{first, 3 - first} {
								if err := addCounter(ctx, tx, id); err != nil {
									return err
								}
							}
							return nil
						})
						assert.NoError(t, err, "a delivery failed")
						if ok {
							fresh.Add(1)
						}
					}
				})
			}
		}
		wg.Wait()
		t.Logf("%d handlers ran for %d events", runs.Load(), events)
		if on.Dialect != sqltx.SQLite && runs.Load() == events {
			t.Error("no handler met another one: the test has shown nothing")
		}
		assert.EqualValues(t, events, fresh.Load(), "deliveries were fresh")
		expectCounters(t, a, events)
	})
}

// TestConflictAtCommitIsHandledAgain: PostgreSQL finds at COMMIT that two handlers each read a
// row that the other wrote.
func TestConflictAtCommitIsHandledAgain(t *testing.T) {
	db := servicetest.Postgres(t)
	s := migrated(t, db, sqlidempotency.Config{Dialect: sqltx.Postgres})
	counters(t, db, sqltx.Postgres, 4)
	runs := 0
	fresh, err := s.Once(t.Context(), record("stats:1"), func(ctx context.Context) error {
		runs++
		tx, _ := sqltx.On(ctx, db)
		_, err := readCounter(ctx, tx, 2)
		if err := errors.Join(err, writeCounter(ctx, tx, 1, 1)); err != nil || runs > 1 {
			return err
		}
		_, err = s.Once(t.Context(), record("stats:2"), func(ctx context.Context) error { // another transaction
			tx, _ := sqltx.On(ctx, db)
			_, err := readCounter(ctx, tx, 1)
			return errors.Join(err, writeCounter(ctx, tx, 2, 1))
		})
		return err
	})
	if !fresh || err != nil || runs != 2 {
		t.Errorf("Once: %v, %v after %d runs; want a success after 2", fresh, err, runs)
	}
	expectCounters(t, db, 1)
	for _, key := range []string{"stats:1", "stats:2"} {
		if seen, err := s.Seen(t.Context(), key); !seen || err != nil {
			t.Errorf("%s recorded %v, %v", key, seen, err)
		}
	}
}

var conflict = &pgconn.PgError{Code: "40001", Message: "could not serialize access"}

// TestHandlerIsRunAgain: a handler is run again after a conflict, alone or for a batch; its
// hooks run once; and a conflict that does not end is returned as the handler's own error,
// transient, without a key.
func TestHandlerIsRunAgain(t *testing.T) {
	eachDatabase(t, func(t *testing.T, on database) {
		db, _ := pools(t, on)
		s := migrated(t, db, sqlidempotency.Config{Dialect: on.Dialect})
		counters(t, db, on.Dialect, 1)
		runs, hooks, failures := 0, 0, 2
		handler := func(ctx context.Context) error {
			runs++
			tx, _ := sqltx.On(ctx, db)
			sqltx.AfterCommit(ctx, func() { hooks++ })
			for id := 1; id <= 2; id++ {
				if err := addCounter(ctx, tx, id); err != nil {
					return err
				}
			}
			if runs <= failures {
				return fmt.Errorf("count: %w", conflict)
			}
			return nil
		}
		if fresh, err := s.Once(t.Context(), record("stats:1"), handler); !fresh || err != nil || runs != 3 || hooks != 1 {
			t.Errorf("Once: %v, %v after %d runs and %d hooks; want a success after 3 and 1", fresh, err, runs, hooks)
		}
		runs = 0
		batch := []driver.Record{record("stats:1"), record("stats:2"), record("stats:3")}
		fresh, err := s.OnceBatch(t.Context(), batch, func(ctx context.Context, fresh []int) error {
			if len(fresh) != 2 {
				t.Errorf("run %d got %v, want the two new ones", runs+1, fresh)
			}
			return handler(ctx)
		})
		if len(fresh) != 2 || err != nil || runs != 3 || hooks != 2 {
			t.Errorf("OnceBatch: %v, %v after %d runs and %d hooks; want 2 new after 3 and 2", fresh, err, runs, hooks)
		}
		expectCounters(t, db, 2)

		runs, failures = 0, 1000
		_, err = s.Once(t.Context(), record("stats:4"), handler)
		if !errors.Is(err, conflict) || fault.Of(err) != fault.Transient || runs != 20 || hooks != 2 ||
			!strings.HasPrefix(err.Error(), "sqltx: the database rolled back each of 20 attempts: count: ") {
			t.Errorf("Once: %v after %d runs, want the handler's conflict after %d", err, runs, 20)
		}
		if seen, err := s.Seen(t.Context(), "stats:4"); seen || err != nil {
			t.Errorf("key recorded %v, %v", seen, err)
		}
		expectCounters(t, db, 2)
	})
}

// TestIgnoredNestedHandler: a nested call that failed, and was ignored, dooms the outer one,
// which returns an error.
func TestIgnoredNestedHandler(t *testing.T) {
	_, db := servicetest.SQLite(t)
	s := migrated(t, db, sqlidempotency.Config{Dialect: sqltx.SQLite})
	_, err := s.Once(t.Context(), record("stats:1"), func(ctx context.Context) error {
		_, _ = s.Once(ctx, record("stats:2"), func(context.Context) error { return errFailed })
		return nil
	})
	if !errors.Is(err, sqltx.ErrDoomed) || !errors.Is(err, errFailed) {
		t.Errorf("Once: %v, want ErrDoomed", err)
	}
}
