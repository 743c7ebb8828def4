package migrate

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/pressly/goose/v3/database"
)

// lockName is the name of a version table's lock: locks belong to the server,
// not to a database, and their names have at most 64 characters. MySQL 9.7 has no
// SHA1().
const lockName = `CONCAT('millrace_', LEFT(SHA2(CONCAT(COALESCE(DATABASE(), ''), '.', ?), 256), 40))`

// namedLock makes the processes that migrate one version table take turns on
// MySQL and MariaDB. A session may take it several times.
type namedLock struct {
	table string
	// check is run by the session that has just got the lock. Optional.
	check func(ctx context.Context, conn *sql.Conn) error
}

func (l namedLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if err := l.take(ctx, conn); err != nil || l.check == nil {
		return err
	}
	if err := l.check(ctx, conn); err != nil {
		return errors.Join(err, l.SessionUnlock(context.WithoutCancel(ctx), conn))
	}
	return nil
}

func (l namedLock) take(ctx context.Context, db queryer) error {
	const ever = 365 * 24 * time.Hour // the context ends the wait
	var got sql.NullInt64
	err := db.QueryRowContext(ctx, `SELECT GET_LOCK(`+lockName+`, ?)`, l.table, int(ever.Seconds())).Scan(&got)
	if err == nil && got.Int64 != 1 {
		err = errors.New("the server did not give it")
	}
	if err != nil {
		return fmt.Errorf("wait for the migration lock: %w", err)
	}
	return nil
}

func (l namedLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	if err := l.give(ctx, conn); err != nil {
		// The lock lives as long as its session: drop that instead of handing
		// it back to the pool.
		return errors.Join(err, conn.Raw(func(any) error { return driver.ErrBadConn }))
	}
	return nil
}

func (l namedLock) give(ctx context.Context, db queryer) error {
	var was sql.NullInt64
	if err := db.QueryRowContext(ctx, `SELECT RELEASE_LOCK(`+lockName+`)`, l.table).Scan(&was); err != nil {
		return fmt.Errorf("release the migration lock: %w", err)
	}
	return nil
}

type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// createOnMySQL makes the table and its first row under the lock: making a table
// commits, so no transaction keeps others from seeing one without the other.
func (v *versions) createOnMySQL(ctx context.Context, db database.DBTxConn) (err error) {
	lock := namedLock{table: v.Tablename()}
	if err := lock.take(ctx, db); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.give(context.WithoutCancel(ctx), db)) }()

	exists, err := v.TableExists(ctx, db)
	if err != nil || exists {
		return err
	}
	named, err := v.named(ctx, db)
	if err != nil {
		return err
	}
	if !named {
		if err := v.Store.CreateVersionTable(ctx, db); err != nil {
			return err
		}
	}
	return v.Store.Insert(ctx, db, database.InsertRequest{Version: 0})
}

// GetMigration reads MySQL's time as a number, which needs no parseTime of the
// pool.
func (v *versions) GetMigration(ctx context.Context, db database.DBTxConn, version int64) (*database.GetMigrationResult, error) {
	if v.dialect != MySQL {
		return v.Store.GetMigration(ctx, db, version)
	}
	var at int64
	out := &database.GetMigrationResult{}
	query := `SELECT CAST(UNIX_TIMESTAMP(tstamp) AS SIGNED), is_applied FROM ` + v.Tablename() + ` WHERE version_id = ? ORDER BY id DESC LIMIT 1`
	err := db.QueryRowContext(ctx, query, version).Scan(&at, &out.IsApplied)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fmt.Errorf("%w: %d", database.ErrVersionNotFound, version)
	case err != nil:
		return nil, err
	}
	out.Timestamp = time.Unix(at, 0).UTC()
	return out, nil
}
