package pgxtx_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/tcpproxy/proxytest"
	"github.com/millrace-go/millrace/sqltx"
	"github.com/millrace-go/millrace/sqltx/pgxtx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// opened returns a pgxpool with a table, and the same pool for database/sql.
func opened(t *testing.T) (*pgxpool.Pool, *sql.DB) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), servicetest.PostgresURL(t))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	db := pgxtx.Open(pool)
	t.Cleanup(func() { db.Close() })
	_, err = pool.Exec(t.Context(), `CREATE TABLE counters (id INT PRIMARY KEY, n INT NOT NULL)`)
	require.NoError(t, err)
	return pool, db
}

func count(t *testing.T, pool *pgxpool.Pool, want int) {
	t.Helper()
	var n int
	if err := pool.QueryRow(t.Context(), `SELECT COUNT(*) FROM counters`).Scan(&n); err != nil || n != want {
		t.Errorf("%d rows, %v; want %d", n, err, want)
	}
	// A broken connection is closed in the background.
	require.Eventually(t, func() bool { return pool.Stat().AcquiredConns() == 0 }, time.Minute, time.Millisecond, "connections did not come back")
}

func TestTwoFaces(t *testing.T) {
	pool, db := opened(t)
	no := errors.New("no")
	for i, outcome := range []error{no, nil} {
		err := pgxtx.Do(t.Context(), db, func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `INSERT INTO counters VALUES (1, 0)`); err != nil {
				return err
			}
			other, ok := sqltx.On(ctx, db)
			if !ok {
				return errors.New("database/sql finds no transaction")
			}
			var n int
			if err := other.QueryRowContext(ctx, `SELECT COUNT(*) FROM counters`).Scan(&n); err != nil || n != 1 {
				t.Errorf("the other face sees %d rows, %v", n, err)
			}
			_, err := other.ExecContext(ctx, `INSERT INTO counters VALUES (2, 0)`)
			return errors.Join(err, outcome)
		})
		assert.ErrorIs(t, err, outcome, "Do")
		count(t, pool, 2*i)
	}
}

func TestHooks(t *testing.T) {
	_, db := opened(t)
	ran := 0
	for _, outcome := range []error{errors.New("no"), nil} {
		err := pgxtx.Do(t.Context(), db, func(ctx context.Context, tx pgx.Tx) error {
			return pgxtx.Do(ctx, db, func(ctx context.Context, inner pgx.Tx) error { // joins
				if inner.Conn() != tx.Conn() {
					t.Error("a nested Do has another connection")
				}
				sqltx.AfterCommit(ctx, func() { ran++ })
				return outcome
			})
		})
		assert.ErrorIs(t, err, outcome, "Do")
	}
	assert.Equalf(t, 1, ran, "the hook ran %d times", ran)
}

// TestConflict: two writers at SERIALIZABLE each read the rows that the other writes. One is
// rolled back at COMMIT and runs again.
func TestConflict(t *testing.T) {
	pool, db := opened(t)
	_, err := pool.Exec(t.Context(), `INSERT INTO counters VALUES (1, 0), (2, 0)`)
	require.NoError(t, err)
	var runs atomic.Int32
	var both, done sync.WaitGroup
	both.Add(2)
	for _, ids := range [][2]int{{1, 2}, {2, 1}} {
		done.Go(func() {
			meet := sync.OnceFunc(func() { both.Done(); both.Wait() })
			err := pgxtx.Do(t.Context(), db, func(ctx context.Context, tx pgx.Tx) error {
				runs.Add(1)
				var n int
				if err := tx.QueryRow(ctx, `SELECT n FROM counters WHERE id = $1`, ids[0]).Scan(&n); err != nil {
					return err
				}
				meet()
				_, err := tx.Exec(ctx, `UPDATE counters SET n = $2 WHERE id = $1`, ids[1], n+1)
				return err
			}, sqltx.Options{Isolation: sql.LevelSerializable})
			assert.NoError(t, err, "Do")
		})
	}
	done.Wait()
	var sum int
	if err := pool.QueryRow(t.Context(), `SELECT SUM(n) FROM counters`).Scan(&sum); err != nil || sum != 3 || runs.Load() < 3 {
		t.Errorf("the sum is %d (%v) after %d runs; want 3, one after the other", sum, err, runs.Load())
	}
}

func TestNativeMeans(t *testing.T) {
	pool, db := opened(t)
	err := pgxtx.Do(t.Context(), db, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{"counters"}, []string{"id", "n"}, pgx.CopyFromRows([][]any{{1, 0}, {2, 0}})); err != nil {
			return err
		}
		err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { // a savepoint
			_, err := tx.Exec(ctx, `INSERT INTO counters VALUES (1, 0)`)
			return err
		})
		assert.Error(t, err, "a key stands twice")
		batch := &pgx.Batch{}
		batch.Queue(`INSERT INTO counters VALUES (3, 0)`)
		batch.Queue(`INSERT INTO counters VALUES (4, 0)`)
		return tx.SendBatch(ctx, batch).Close()
	})
	require.NoError(t, err)
	count(t, pool, 4)
}

func TestEndIsNotTheirs(t *testing.T) {
	pool, db := opened(t)
	var kept pgx.Tx
	err := pgxtx.Do(t.Context(), db, func(ctx context.Context, tx pgx.Tx) error {
		kept = tx
		if err := tx.Commit(ctx); err == nil || !strings.Contains(err.Error(), "Do ends this transaction") {
			t.Errorf("Commit: %v", err)
		}
		if err := tx.Rollback(ctx); err == nil || !strings.Contains(err.Error(), "Do ends this transaction") {
			t.Errorf("Rollback: %v", err)
		}
		_, err := tx.Exec(ctx, `INSERT INTO counters VALUES (1, 0)`)
		return err
	})
	require.NoError(t, err)
	if _, err := kept.Exec(t.Context(), `INSERT INTO counters VALUES (2, 0)`); !errors.Is(err, pgx.ErrTxClosed) {
		t.Errorf("after its end: %v", err)
	}
	count(t, pool, 1)
}

func TestCancelled(t *testing.T) {
	pool, db := opened(t)
	for name, in := range map[string]func(ctx context.Context, tx pgx.Tx, cancel func()) error{
		"between statements": func(ctx context.Context, tx pgx.Tx, cancel func()) error {
			_, err := tx.Exec(ctx, `INSERT INTO counters VALUES (1, 0)`)
			cancel()
			return err
		},
		"in a statement": func(ctx context.Context, tx pgx.Tx, cancel func()) error {
			stop := make(chan struct{})
			go func() { defer close(stop); cancel() }()
			_, err := tx.Exec(ctx, `SELECT pg_sleep(60)`)
			<-stop
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		err := pgxtx.Do(ctx, db, func(ctx context.Context, tx pgx.Tx) error { return in(ctx, tx, cancel) })
		assert.ErrorIsf(t, err, context.Canceled, "%s", name)
		count(t, pool, 0)
	}
}

func TestOn(t *testing.T) {
	_, db := opened(t)
	if _, ok := pgxtx.On(t.Context(), db); ok {
		t.Error("a context without a transaction carries one")
	}
	err := sqltx.Do(t.Context(), db, func(ctx context.Context, _ *sql.Tx) error {
		return pgxtx.Do(ctx, db, func(context.Context, pgx.Tx) error { t.Error("it ran"); return nil })
	})
	assert.Error(t, err, "a transaction of sqltx.Do was taken for one of pgx")
	other := servicetest.Postgres(t)
	if err := pgxtx.Do(t.Context(), other, func(context.Context, pgx.Tx) error { t.Error("it ran"); return nil }); err == nil {
		t.Error("a pool that is not pgxtx's was taken")
	}
}

// TestStalledServer checks that the end of a context ends every part of a Do on a server that does
// not answer any more.
func TestStalledServer(t *testing.T) {
	for name, c := range map[string]struct {
		before bool  // stalled before Do
		result error // of the function
	}{"begin": {before: true}, "commit": {}, "rollback": {result: errors.New("no")}} {
		t.Run(name, func(t *testing.T) {
			u, err := url.Parse(servicetest.PostgresURL(t))
			require.NoError(t, err)
			proxy := proxytest.Start(t, u.Host)
			u.Host = proxy.Addr()
			pool, err := pgxpool.New(t.Context(), u.String())
			require.NoError(t, err)
			defer pool.Close()
			db := pgxtx.Open(pool)
			defer db.Close()
			require.NoError(t, pgxtx.Do(t.Context(), db, func(context.Context, pgx.Tx) error { return nil }))

			proxy.Stall(c.before)
			defer proxy.Refuse(true) // or pgx waits for the server when the pool is closed
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			done := make(chan error, 1)
			go func() {
				done <- pgxtx.Do(ctx, db, func(context.Context, pgx.Tx) error { proxy.Stall(true); return c.result })
			}()
			select {
			case err := <-done:
				want := c.result
				if want == nil {
					want = context.DeadlineExceeded
				}
				require.ErrorIs(t, err, want)
			case <-time.After(20 * time.Second):
				proxy.Refuse(true)
				t.Error("Do outlived its context, and then returned", <-done)
			}
		})
	}
}
