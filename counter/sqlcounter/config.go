package sqlcounter

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/millrace-go/millrace/counter/driver"
)

// Dialect is the SQL dialect of the database.
type Dialect string

// The dialects.
const (
	Postgres Dialect = "postgres"
	SQLite   Dialect = "sqlite"
	MySQL    Dialect = "mysql" // and MariaDB
)

func (d Dialect) validate(config string) error {
	if d != Postgres && d != SQLite && d != MySQL {
		return fmt.Errorf("sqlcounter: %s.Dialect is %q; use sqlcounter.Postgres, sqlcounter.MySQL or sqlcounter.SQLite", config, string(d))
	}
	return nil
}

// Config configures an [Applier].
type Config struct {
	// Dialect of the database; required, since a *sql.DB does not reveal it.
	Dialect Dialect
	// Also runs in the transaction that adds deltas to the totals, so that other rows (a column
	// of a post, for example) change with them; none by default. It delays all other flushers
	// of the same counter, and its error rolls the transaction back. It can run more than once
	// for one batch ([sqltx.Do]): only the changes of the last run are committed.
	Also func(ctx context.Context, tx *sql.Tx, name string, deltas []driver.Delta) error
}
