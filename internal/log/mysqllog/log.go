package mysqllog

import (
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"text/template"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/migrate"
)

//go:embed sql/*.sql
var embedded embed.FS

// Log is a log in MySQL or MariaDB. It implements [log.Log].
type Log struct {
	db      *sql.DB
	tables  sqllog.Tables
	sql     statements
	leap    func() int64
	pass    atomic.Int64           // how many rows a pass takes; 0 at first
	unread  atomic.Pointer[unread] // nil: unknown
	given   sync.Map               // lane → bound: a row up to which places were given
	next    sync.Map               // lane → following: a pass prepared ahead
	inOrder atomic.Bool            // one look is enough, as the last look reported
	pruned  sync.Map               // lane → bound: a place up to which all rows are pruned
}

var _ log.Log = (*Log)(nil)

// statements has every statement with the table names filled in. The text of append ends with
// one row of placeholders, row, to which further rows are added; that of renew with the
// condition renewed.
type statements struct {
	append, row, pending, pendingWhole, pendingAgain, pendingRows string
	number, numberRange, createLane                               string
	read, rowAt, backlog, behind, cursor                          string
	leaseState, createCursor, lease, position, release, advance   string
	renew, renewed                                                string
	passed, old, delete, since, rebase, lanes, tip, laneCount     string
}

// New makes a log over db, a pool of github.com/go-sql-driver/mysql (package
// mysqldb opens one). It sends nothing.
func New(db *sql.DB, tables sqllog.Tables) (*Log, error) { return on(db, tables, Server, inOrder) }

// on is New with other expressions for the server and for inOrder.
func on(db *sql.DB, tables sqllog.Tables, server, inOrder string) (*Log, error) {
	if db == nil {
		return nil, errors.New("mysqllog: db is nil")
	}
	if err := tables.Validate(); err != nil {
		return nil, err
	}
	l := &Log{db: db, tables: tables, leap: randomLeap}
	s := &l.sql
	whole := files(server, inOrder, rest, noRest).Statements(tables, map[string]*string{"pending": &s.pendingWhole})
	err := files(server, inOrder, "", "").Statements(tables, map[string]*string{
		"append": &s.append, "pending": &s.pending, "pending_again": &s.pendingAgain, "pending_rows": &s.pendingRows, "number": &s.number, "number_range": &s.numberRange, "create_lane": &s.createLane,
		"read": &s.read, "row_at": &s.rowAt, "backlog": &s.backlog, "behind": &s.behind, "cursor": &s.cursor,
		"lease_state": &s.leaseState, "create_cursor": &s.createCursor, "lease": &s.lease, "position": &s.position,
		"renew": &s.renew, "release": &s.release, "advance": &s.advance,
		"passed": &s.passed, "old": &s.old, "delete": &s.delete, "since": &s.since, "rebase": &s.rebase,
		"lanes": &s.lanes, "tip": &s.tip, "lane_count": &s.laneCount,
	})
	if err := errors.Join(whole, err); err != nil {
		return nil, fmt.Errorf("mysqllog: %w", err)
	}
	_, s.renewed, _ = strings.Cut(s.renew, "WHERE ")
	s.row = tables.Row()
	return l, nil
}

// Migrations returns the schema of the log's tables.
func (l *Log) Migrations() (migrate.Set, error) {
	return files(Server, inOrder, "", "").Schema(l.tables)
}

// files returns the statements with these expressions, and further columns of a look.
func files(server, inOrder, rest, noRest string) sqllog.Files {
	funcs := template.FuncMap{}
	for name, text := range map[string]string{
		"server": server, "inOrder": inOrder, "rest": rest, "noRest": noRest, "inSpans": inSpans,
	} {
		funcs[name] = func() string { return text }
	}
	return sqllog.Files{FS: embedded, Dialect: migrate.MySQL, Funcs: funcs}
}

// Server is an expression that identifies the server. Servers of one replication topology have
// different ids; if ids are equal, as in a cluster of MariaDB, names or ports differ.
const Server = `CONCAT_WS('/', @@server_id, @@hostname, @@port)`

// inOrder distinguishes MySQL, where a reader that sees a commit sees all that had to come
// before it, from MariaDB, where it may not (see doc.go). Only MariaDB reads the text between
// /*M! and */; the version alone is not enough, because it can be configured.
const inOrder = "@@version NOT LIKE '%MariaDB%' /*M! AND FALSE */"

// rest are the columns, beside ids and messages, of a look that returns whole rows; noRest
// replaces them in other rows.
const (
	rest   = ", topic, message_key, headers, payload, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', created_at)"
	noRest = ", '', '', '', '', 0"
)
