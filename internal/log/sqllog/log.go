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
	// Append writes the entries in x, the caller's transaction. An x that is a pool commits
	// them by itself, where that is one statement.
	Append(ctx context.Context, x sqltx.Execer, entries []log.Entry) error
	// Migrations is the schema of the log's tables.
	Migrations() (migrate.Set, error)
}
