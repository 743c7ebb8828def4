package pglog

import (
	"context"

	"github.com/millrace-go/millrace/internal/sqlname"
)

// gatherStatistics analyzes the table once if it has never been analyzed. On a table without
// statistics the planner estimates a lane at a handful of rows and sorts the whole backlog for
// every batch. Autovacuum corrects that within about a minute; a first start with a backlog, or
// one after a restore, need not wait for it. A role that may not analyze the table gets a
// warning from the server, and reads on, slower, until autovacuum runs.
func (l *Log) gatherStatistics(ctx context.Context) {
	if l.analyzed.Swap(true) {
		return
	}
	table := sqlname.In(l.tables.Schema, l.tables.Messages)
	var missing bool
	err := l.db.QueryRowContext(ctx, `SELECT reltuples <= 0 FROM pg_class WHERE oid = $1::text::regclass`, table).Scan(&missing)
	if err == nil && missing {
		_, err = l.db.ExecContext(ctx, "ANALYZE "+table)
	}
	if err != nil {
		l.analyzed.Store(false) // nothing depends on it; the next big read tries again
	}
}
