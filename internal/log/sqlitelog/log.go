package sqlitelog

import (
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"text/template"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/migrate"
)

//go:embed sql/*.sql
var embedded embed.FS

// now is the database's clock in microseconds since 1970.
const now = `CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000`

// Log is a log in a SQLite file. It implements [log.Log].
type Log struct {
	db     *sql.DB
	reader *sql.DB
	tables sqllog.Tables
	sql    statements
}

var _ log.Log = (*Log)(nil)

// statements has every statement with the table names filled in. The text of append ends with
// one row of placeholders, row, to which further rows are added.
type statements struct {
	append, row                                                     string
	leaseHeld, lease, renew, release, advance, read, backlog, prune string
	rebase, lanesAfter, lastID                                      string
}

// New makes a log over db, a pool whose transactions begin IMMEDIATE (package sqlitedb opens
// such a pool). It sends nothing. Reads use db too; see [Log.WithReader].
func New(db *sql.DB, tables sqllog.Tables) (*Log, error) {
	if db == nil {
		return nil, errors.New("sqlitelog: db is nil")
	}
	if err := tables.Validate(); err != nil {
		return nil, err
	}
	l := &Log{db: db, reader: db, tables: tables}
	err := files().Statements(tables, map[string]*string{
		"append": &l.sql.append, "lease_held": &l.sql.leaseHeld, "lease": &l.sql.lease,
		"renew": &l.sql.renew, "release": &l.sql.release, "advance": &l.sql.advance,
		"read": &l.sql.read, "backlog": &l.sql.backlog, "prune": &l.sql.prune,
		"rebase": &l.sql.rebase, "lanes_after": &l.sql.lanesAfter, "last_id": &l.sql.lastID,
	})
	if err != nil {
		return nil, fmt.Errorf("sqlitelog: %w", err)
	}
	l.sql.row = tables.Row()
	return l, nil
}

// WithReader returns the same log that reads from another pool on the same file. The pool may be
// read-only.
func (l *Log) WithReader(reader *sql.DB) *Log {
	other := *l
	if reader != nil {
		other.reader = reader
	}
	return &other
}

// Migrations returns the schema of the log's two tables.
func (l *Log) Migrations() (migrate.Set, error) { return files().Schema(l.tables) }

func files() sqllog.Files {
	return sqllog.Files{FS: embedded, Dialect: migrate.SQLite, Funcs: template.FuncMap{"now": func() string { return now }}}
}
