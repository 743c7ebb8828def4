package sqlcounter

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/sqltx"
)

// dialect is a dialect with its differences.
type dialect sqltx.Dialect

const (
	postgres = dialect(sqltx.Postgres)
	sqlite   = dialect(sqltx.SQLite)
	mysql    = dialect(sqltx.MySQL)
)

func (d dialect) validate(what string) error {
	if d != postgres && d != sqlite && d != mysql {
		return fmt.Errorf("sqlcounter: %s is %q; use sqltx.Postgres, sqltx.MySQL or sqltx.SQLite", what, string(d))
	}
	return nil
}

// Config configures an applier of [New].
type Config struct {
	// Dialect of the database; required, since a *sql.DB does not reveal it.
	Dialect sqltx.Dialect
	// Also runs in the transaction that adds deltas to the totals, so that other rows (a column
	// of a post, for example) change with them; none by default. It delays all other flushers
	// of the same counter, and its error rolls the transaction back. It can run more than once
	// for one batch ([sqltx.Do]): only the changes of the last run are committed.
	Also func(ctx context.Context, tx *sql.Tx, name string, deltas []driver.Delta) error
}
