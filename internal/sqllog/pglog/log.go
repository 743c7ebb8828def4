package pglog

import (
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"sync/atomic"
	"text/template"

	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/sqllog"
	"github.com/millrace-go/millrace/internal/sqllog/backend"
)

//go:embed sql/*.sql
var embedded embed.FS

// Log is a log in PostgreSQL. It implements [sqllog.Log].
type Log struct {
	db     *sql.DB
	tables sqllog.Tables
	sql    statements

	analyzed atomic.Bool // the table was seen to have statistics
}

var _ sqllog.Log = (*Log)(nil)

// statements is every statement with the table names filled in.
type statements struct {
	append, appendOne, createCursor, lease, leaseState, renew, release, advance string
	openWindow, readWindow, backlog, prune, rebaseRows, rebaseCursors           string
}

// New makes a log over db, which must be opened with pgx's database/sql driver.
// It sends nothing.
func New(db *sql.DB, tables sqllog.Tables) (*Log, error) {
	if db == nil {
		return nil, errors.New("pglog: db is nil")
	}
	if err := tables.Validate(); err != nil {
		return nil, err
	}
	l := &Log{db: db, tables: tables}
	err := files().Statements(tables, map[string]*string{
		"append": &l.sql.append, "append_one": &l.sql.appendOne, "create_cursor": &l.sql.createCursor, "lease": &l.sql.lease,
		"lease_state": &l.sql.leaseState, "renew": &l.sql.renew, "release": &l.sql.release,
		"advance": &l.sql.advance, "open_window": &l.sql.openWindow, "read_window": &l.sql.readWindow,
		"backlog": &l.sql.backlog, "prune": &l.sql.prune,
		"rebase_rows": &l.sql.rebaseRows, "rebase_cursors": &l.sql.rebaseCursors,
	})
	if err != nil {
		return nil, fmt.Errorf("pglog: %w", err)
	}
	return l, nil
}

// Migrations returns the schema of the log's two tables.
func (l *Log) Migrations() (migrate.Set, error) {
	set, err := files().Schema(l.tables)
	if err != nil {
		return migrate.Set{}, fmt.Errorf("pglog: %w", err)
	}
	return set, nil
}

func files() backend.Files {
	return backend.Files{FS: embedded, Dialect: migrate.Postgres, Funcs: template.FuncMap{
		"add":    func(a, b int) int { return a + b },
		"server": func() string { return Server },
	}}
}

// Server is an expression that changes whenever PostgreSQL recovers from a crash:
// then it starts anew, or at least begins its statistics anew.
const Server = `((extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint
		|| '/' || coalesce((extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()) * 1000000)::bigint, 0))`
