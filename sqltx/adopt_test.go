package sqltx_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/intx"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

func TestAdopt(t *testing.T) {
	_, db := servicetest.SQLite(t)
	_, err := db.Exec(`CREATE TABLE n (v INTEGER)`)
	require.NoError(t, err)
	begin := func() *sql.Tx {
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		return tx
	}
	insert := func(ctx context.Context, fail error) error {
		return sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, `INSERT INTO n VALUES (1)`); err != nil {
				return err
			}
			return fail
		})
	}

	tx := begin()
	ctx, end, committed := sqltx.Adopt(t.Context(), db, tx)
	if got, ok := intx.From(ctx); !ok || got != tx {
		t.Errorf("From found %v (%t), want the adopted transaction", got, ok)
	}
	ran := 0
	assert.True(t, sqltx.AfterCommit(ctx, func() { ran++ }), "AfterCommit refused a hook")
	require.NoError(t, insert(ctx, nil))
	require.NoError(t, end())
	assert.ErrorIs(t, insert(ctx, nil), sqltx.ErrEnded, "a join after end")
	assert.False(t, sqltx.AfterCommit(ctx, func() { ran += 10 }), "a hook was taken after end")
	require.NoError(t, tx.Commit())
	assert.Equal(t, 0, ran, "a hook ran before the owner said that it has committed")
	committed()
	assert.Equalf(t, 1, ran, "hooks ran %d times", ran)
	var n int
	if err := db.QueryRow(`SELECT count(*) FROM n`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d rows (%v), want 1", n, err)
	}

	// A swallowed failure dooms the transaction.
	tx = begin()
	defer tx.Rollback()
	ctx, end, _ = sqltx.Adopt(t.Context(), db, tx)
	stop := errors.New("stop")
	require.ErrorIs(t, insert(ctx, stop), stop)
	if err := end(); !errors.Is(err, sqltx.ErrDoomed) || !errors.Is(err, stop) {
		t.Errorf("end: %v, want %v", err, sqltx.ErrDoomed)
	}
}
