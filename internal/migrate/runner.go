package migrate

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/millrace-go/millrace/internal/sqlname"
)

// runner is the session that migrates a set.
type runner struct {
	Set
	conn *sql.Conn
}

// table is the version table with its schema.
func (r runner) table() string { return sqlname.In(r.Schema, r.Table()) }

// alone runs fn in a transaction during which no other process migrates the set.
// On MySQL the caller holds the session's lock.
func (r runner) alone(ctx context.Context, fn func(context.Context) error) (err error) {
	begin := map[string]string{
		// Under a stricter level the read behind the lock would see the state before it.
		Postgres: `BEGIN ISOLATION LEVEL READ COMMITTED`,
		SQLite:   `BEGIN IMMEDIATE`,
		MySQL:    `BEGIN`,
	}[r.Dialect]
	if _, err := r.conn.ExecContext(ctx, begin); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		if _, failed := r.conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`); failed != nil {
			r.drop() // the transaction ends with its session
		}
	}()
	if r.Dialect == Postgres {
		// Older releases hold the same key for their session, which excludes this one too.
		const key = `hashtextextended(coalesce(current_schema(), '') || '.' || $1, 0)`
		if _, err := r.conn.ExecContext(ctx, `SELECT pg_advisory_xact_lock(`+key+`)`, r.table()); err != nil {
			return fmt.Errorf("wait for the migration lock: %w", err)
		}
	}
	if err := fn(ctx); err != nil {
		return err
	}
	_, err = r.conn.ExecContext(ctx, `COMMIT`)
	return err
}

// drop closes the session instead of returning it to the pool.
func (r runner) drop() { _ = r.conn.Raw(func(any) error { return driver.ErrBadConn }) }

// apply runs a migration and records it, unless another process has.
func (r runner) apply(ctx context.Context, m migration) error {
	all, err := statements(m.text)
	if err != nil {
		return err
	}
	if is, err := r.recorded(ctx, m.version); err != nil || is {
		return err
	}
	for i, one := range all {
		if _, err := r.conn.ExecContext(ctx, one); err != nil {
			return fmt.Errorf("statement %d: %w", i+1, err)
		}
	}
	return r.record(ctx, m.version)
}
