package sqllog

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/sqltx"
)

// Log is a log in tables, which a dump can bring to another database system.
type Log interface {
	log.Log
	// Append writes the entries in x, the caller's transaction. If x is a pool and Append is one
	// statement, it commits the entries itself.
	Append(ctx context.Context, x sqltx.Execer, entries []log.Entry) error
	// Rebase sets a cursor from another database system, and with it every such cursor of its
	// lane, to a position in this one: entries from the given time on are read again. Leases on
	// these cursors are void afterwards. If positions are part of the data (SQLite), it moves
	// only that cursor.
	Rebase(ctx context.Context, c log.Cursor, since time.Time) error
	// Migrations returns the schema of the log's tables.
	Migrations() (migrate.Set, error)
}
