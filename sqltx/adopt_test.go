package sqltx_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/millrace-go/millrace/internal/intx"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

func TestAdopt(t *testing.T) {
	_, db := servicetest.SQLite(t)
	if _, err := db.Exec(`CREATE TABLE n (v INTEGER)`); err != nil {
		t.Fatal(err)
	}
	begin := func() *sql.Tx {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
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
	if !sqltx.AfterCommit(ctx, func() { ran++ }) {
		t.Error("AfterCommit refused a hook")
	}
	if err := insert(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if err := insert(ctx, nil); !errors.Is(err, sqltx.ErrEnded) {
		t.Errorf("a join after end: %v, want %v", err, sqltx.ErrEnded)
	}
	if sqltx.AfterCommit(ctx, func() { ran += 10 }) {
		t.Error("a hook was taken after end")
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if ran != 0 {
		t.Error("a hook ran before the owner said that it has committed")
	}
	committed()
	if ran != 1 {
		t.Errorf("hooks ran %d times", ran)
	}
	var n int
	if err := db.QueryRow(`SELECT count(*) FROM n`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d rows (%v), want 1", n, err)
	}

	// A swallowed failure dooms the transaction.
	tx = begin()
	defer tx.Rollback()
	ctx, end, _ = sqltx.Adopt(t.Context(), db, tx)
	stop := errors.New("stop")
	if err := insert(ctx, stop); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	if err := end(); !errors.Is(err, sqltx.ErrDoomed) || !errors.Is(err, stop) {
		t.Errorf("end: %v, want %v", err, sqltx.ErrDoomed)
	}
}
