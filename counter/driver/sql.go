package driver

import (
	"context"

	"github.com/millrace-go/millrace/migrations"
	"github.com/millrace-go/millrace/sqltx"
)

// SQLApplier keeps totals in SQL tables, as sqlcounter.New returns it. Call Migrate once before
// use.
type SQLApplier interface {
	Applier
	migrations.Migrator
}

// SQLLog is the log of one counter's change rows in a SQL table, as sqlcounter.NewLog returns it.
// Writers append to it in the transactions of the counted rows. Call Migrate once before use: from
// then on no change of the counter is trimmed before it is applied.
type SQLLog interface {
	Source
	Verifier
	Trimmer
	migrations.Migrator
	// Append writes change rows in x, the transaction of the counted rows: a created comment is 1
	// for its post, a soft-deleted one -1. It is one statement. An x that is not a transaction is
	// refused ([sqltx.CheckTx]).
	Append(ctx context.Context, x sqltx.Execer, changes ...Change) error
}
