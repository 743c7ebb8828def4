package sqllog

import (
	"context"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/sqltx"
)

// Log is a log in tables.
type Log interface {
	log.Log
	// Append writes the entries in x, the caller's transaction. If x is a pool and Append is one
	// statement, it commits the entries itself.
	Append(ctx context.Context, x sqltx.Execer, entries []log.Entry) error
	// Migrations returns the schema of the log's tables.
	Migrations() (migrate.Set, error)
}
