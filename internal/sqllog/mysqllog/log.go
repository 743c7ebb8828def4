package mysqllog

import (
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/sqllog"
	"github.com/millrace-go/millrace/internal/sqllog/backend"
)

//go:embed sql/*.sql
var embedded embed.FS

// Log is a log in MySQL or MariaDB. It implements [sqllog.Log].
type Log struct {
	db     *sql.DB
	tables sqllog.Tables
	sql    statements
	given  sync.Map // lane → the last place known to be given (int64)
}

var _ sqllog.Log = (*Log)(nil)

// statements is every statement with the table names filled in. Append's ends
// with one row of placeholders, row, to which further ones are added.
type statements struct {
	append, row, pending, pendingAgain, number, createLane             string
	read, backlog, cursor                                              string
	leaseState, createCursor, lease, position, renew, release, advance string
	passed, old, delete, since, rebase, lanes                          string
}

// New makes a log over db, a pool of github.com/go-sql-driver/mysql (package
// mysqldb opens one). It sends nothing.
func New(db *sql.DB, tables sqllog.Tables) (*Log, error) {
	if db == nil {
		return nil, errors.New("mysqllog: db is nil")
	}
	if err := tables.Validate(); err != nil {
		return nil, err
	}
	l := &Log{db: db, tables: tables}
	s := &l.sql
	err := files().Statements(tables, map[string]*string{
		"append": &s.append, "pending": &s.pending, "pending_again": &s.pendingAgain, "number": &s.number, "create_lane": &s.createLane,
		"read": &s.read, "backlog": &s.backlog, "cursor": &s.cursor,
		"lease_state": &s.leaseState, "create_cursor": &s.createCursor, "lease": &s.lease, "position": &s.position,
		"renew": &s.renew, "release": &s.release, "advance": &s.advance,
		"passed": &s.passed, "old": &s.old, "delete": &s.delete, "since": &s.since, "rebase": &s.rebase,
		"lanes": &s.lanes,
	})
	if err != nil {
		return nil, fmt.Errorf("mysqllog: %w", err)
	}
	s.row = ",(" + strings.Repeat("?,", l.columns()-1) + "?)"
	return l, nil
}

// Migrations returns the schema of the log's tables.
func (l *Log) Migrations() (migrate.Set, error) {
	set, err := files().Schema(l.tables)
	if err != nil {
		return migrate.Set{}, fmt.Errorf("mysqllog: %w", err)
	}
	return set, nil
}

func files() backend.Files { return backend.Files{FS: embedded, Dialect: migrate.MySQL} }
