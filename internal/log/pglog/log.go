package pglog

import (
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"text/template"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/migrate"
)

//go:embed sql/*.sql
var embedded embed.FS

// Log is a log in PostgreSQL. It implements [log.Log].
type Log struct {
	db     *sql.DB
	tables sqllog.Tables
	sql    statements

	analyzed atomic.Bool // the table was seen to have statistics
	looked   sync.Map    // lane to the time of its last lookAhead
	pruned   sync.Map    // lane to its place: the progress of pruning, as this process knows it
}

var _ log.Log = (*Log)(nil)

// statements is every statement with the table names filled in.
type statements struct {
	append, appendOne, copy, createCursor, lease, leaseState, release, advance, sweep string
	ahead, position, backlog                                                          string
	prune, pruneLate, prunePlace, pruneStore                                          string
	rebaseRows, rebaseCursors, rebasePruned, adoptCheck, adopt                        string
	openWindow, readWindow                                                            variants
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
	err := files(true).Statements(tables, map[string]*string{
		"append": &l.sql.append, "append_one": &l.sql.appendOne, "copy": &l.sql.copy, "create_cursor": &l.sql.createCursor, "lease": &l.sql.lease,
		"lease_state": &l.sql.leaseState, "release": &l.sql.release, "advance": &l.sql.advance, "sweep": &l.sql.sweep,
		"open_window": &l.sql.openWindow.full, "read_window": &l.sql.readWindow.full,
		"ahead": &l.sql.ahead, "position": &l.sql.position, "backlog": &l.sql.backlog,
		"prune": &l.sql.prune, "prune_late": &l.sql.pruneLate, "prune_place": &l.sql.prunePlace, "prune_store": &l.sql.pruneStore,
		"rebase_rows": &l.sql.rebaseRows, "rebase_cursors": &l.sql.rebaseCursors, "rebase_pruned": &l.sql.rebasePruned,
		"adopt_check": &l.sql.adoptCheck, "adopt": &l.sql.adopt,
	})
	if err == nil {
		err = files(false).Statements(tables, map[string]*string{
			"open_window": &l.sql.openWindow.plain, "read_window": &l.sql.readWindow.plain,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("pglog: %w", err)
	}
	return l, nil
}

// Migrations returns the schema of the log's tables.
func (l *Log) Migrations() (migrate.Set, error) { return files(true).Schema(l.tables) }

// files fills the names into the texts; full selects the variant of open_window.sql.
func files(full bool) sqllog.Files {
	return sqllog.Files{FS: embedded, Dialect: migrate.Postgres, Funcs: template.FuncMap{
		"add":     func(a, b int) int { return a + b },
		"server":  func() string { return Server },
		"running": func() string { return Running },
		"full":    func() bool { return full },
	}}
}

// Server is an expression that changes whenever PostgreSQL recovers from a crash: it then
// restarts, or at least resets its statistics.
const Server = `((extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint
		|| '/' || coalesce((extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()) * 1000000)::bigint, 0))`

// Running is an expression for the running transactions, as an array literal.
const Running = `(SELECT coalesce(array_agg(ran), '{}')::text FROM pg_snapshot_xip(pg_current_snapshot()) AS ran)`
