package ops_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

// What is committed while an audit reads the tables is in none of its statements. In a
// file that is so by itself.
func TestOneSnapshot(t *testing.T) {
	d := deskOn(t, boxtest.Open(t, servicetest.PostgresURL(t)), nil)
	d.history(t)
	done := make(chan ops.Audit, 1)
	err := sqltx.Do(t.Context(), d.Store.DB(), func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `LOCK TABLE effects IN ACCESS EXCLUSIVE MODE`); err != nil {
			return err
		}
		go func() {
			a, err := d.ops.AuditNow(t.Context())
			assert.NoError(t, err)
			done <- a
		}()
		// It has read the seats and the money, and is to read the payments yet.
		boxtest.WaitFor(t, "the audit to wait", func() bool {
			return d.Query(t, `SELECT COUNT(*) FROM pg_locks WHERE relation = 'effects'::regclass AND NOT granted`) != "0"
		})
		d.Exec(t, `UPDATE payments SET amount = amount + 1`)
		return nil
	})
	require.NoError(t, err)
	if a := <-done; !a.OK {
		t.Errorf("%v: %+v", broken(a), a)
	}
}
