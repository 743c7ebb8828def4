package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// lockName is the name of a version table's lock: locks belong to the server,
// not to a database, and their names have at most 64 characters. MySQL 9.7 has no
// SHA1().
const lockName = `CONCAT('millrace_', LEFT(SHA2(CONCAT(COALESCE(DATABASE(), ''), '.', ?), 256), 40))`

// lock serializes the processes that migrate one version table on MySQL and MariaDB, whose
// transactions cannot hold a lock while tables are created.
func (r runner) lock(ctx context.Context) error {
	const ever = 365 * 24 * time.Hour // the context ends the wait
	var got sql.NullInt64
	err := r.conn.QueryRowContext(ctx, `SELECT GET_LOCK(`+lockName+`, ?)`, r.table(), int(ever.Seconds())).Scan(&got)
	if err == nil && got.Int64 != 1 {
		err = errors.New("the server did not give it")
	}
	if err != nil {
		return fmt.Errorf("wait for the migration lock: %w", err)
	}
	return nil
}

func (r runner) unlock(ctx context.Context) error {
	var was sql.NullInt64
	err := r.conn.QueryRowContext(ctx, `SELECT RELEASE_LOCK(`+lockName+`)`, r.table()).Scan(&was)
	switch {
	case errors.Is(err, sql.ErrConnDone):
		return nil // the session was dropped, and its lock with it
	case err != nil:
		r.drop()
		return fmt.Errorf("release the migration lock: %w", err)
	}
	return nil
}
