package pgidempotency_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/idempotencytest"
	"github.com/millrace-go/millrace/idempotency/pgidempotency"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
	"github.com/millrace-go/millrace/sqltx/pgxtx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newPool(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func newStore(t *testing.T, pool *pgxpool.Pool) driver.SQLStore[pgx.Tx] {
	t.Helper()
	db := pgxtx.Open(pool)
	t.Cleanup(func() { db.Close() })
	s, err := pgidempotency.New(db, sqlidempotency.Config{})
	require.NoError(t, err)
	require.NoError(t, s.Migrate(t.Context()))
	return s
}

func TestStore(t *testing.T) {
	idempotencytest.Run(t, func(t *testing.T) idempotencytest.Harness {
		url := servicetest.PostgresURL(t)
		pool, peer := newPool(t, url), newPool(t, url)
		db := pgxtx.Open(pool)
		t.Cleanup(func() { db.Close() })
		store, err := pgidempotency.New(db, sqlidempotency.Config{})
		if err == nil {
			err = store.Migrate(t.Context())
		}
		require.NoError(t, err)
		return idempotencytest.Harness{
			Store: store, Peer: newStore(t, peer), DB: db,
			Backdate: func(ctx context.Context, key string, by time.Duration) error {
				tag, err := pool.Exec(ctx, `UPDATE event_handled SET handled_at = handled_at - $2 * interval '1 second' WHERE idempotency_key = $1`,
					key, by.Seconds())
				if err == nil && tag.RowsAffected() != 1 {
					err = fmt.Errorf("%d rows changed", tag.RowsAffected())
				}
				return err
			},
		}
	})
}

// TestEffectAndKey: the handler's rows by pgx and its key commit together or not at all.
func TestEffectAndKey(t *testing.T) {
	pool := newPool(t, servicetest.PostgresURL(t))
	guard, err := idempotency.New[pgx.Tx](newStore(t, pool), idempotency.Config{Group: "sales"})
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `CREATE TABLE effects (n INT)`)
	require.NoError(t, err)
	e, err := event.New("Sold", "shop", []byte(`{}`))
	require.NoError(t, err)
	no := errors.New("no")
	for i, outcome := range []error{no, nil, nil} {
		fresh, err := guard.Do(t.Context(), e, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO effects VALUES (1)`)
			return errors.Join(err, outcome)
		})
		if fresh != (i == 1) || !errors.Is(err, outcome) {
			t.Errorf("call %d: fresh %t, %v", i, fresh, err)
		}
	}
	var n int
	if err := pool.QueryRow(t.Context(), `SELECT COUNT(*) FROM effects`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d effects, %v", n, err)
	}
}

// TestOtherStoreIsRefused: a store of database/sql has no transaction of pgx, and New refuses
// it.
func TestOtherStoreIsRefused(t *testing.T) {
	db := servicetest.Postgres(t)
	s, err := sqlidempotency.New(db, sqlidempotency.Config{Dialect: sqltx.Postgres})
	require.NoError(t, err)
	_, err = idempotency.New[pgx.Tx](s, idempotency.Config{Group: "sales"})
	if err == nil || !strings.Contains(err.Error(), "no transaction of type pgx.Tx") {
		t.Errorf("New: %v", err)
	}
}
