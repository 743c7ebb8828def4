package store

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
)

// returning is the shape of a statement that [Store.Update] can take apart.
var returning = regexp.MustCompile(`(?s)^(?:--[^\n]*\n)*(UPDATE (\w+) SET .*\sWHERE (\w+) = \$1\b.*?)\s+RETURNING (.*)$`)

// Update runs an UPDATE … WHERE key = $1 AND … RETURNING … inside tx and scans the
// returned row, or fails with sql.ErrNoRows when its conditions did not hold. The key
// must be the table's primary key. Where the database cannot return an updated row,
// the row is read again; it is locked by then.
func (s *Store) Update(ctx context.Context, tx *sql.Tx, statement string, args []any, into ...any) error {
	if s.dialect.returns {
		return tx.QueryRowContext(ctx, statement, args...).Scan(into...)
	}
	parts := returning.FindStringSubmatch(statement)
	if parts == nil {
		return fmt.Errorf("store: the statement is no UPDATE … WHERE key = $1 … RETURNING …: %s", statement)
	}
	update, table, key, columns := parts[1], parts[2], parts[3], parts[4]
	res, err := tx.ExecContext(ctx, update, args...)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	if n == 0 {
		return sql.ErrNoRows
	}
	return tx.QueryRowContext(ctx, "SELECT "+columns+" FROM "+table+" WHERE "+key+" = $1", args[0]).Scan(into...)
}
