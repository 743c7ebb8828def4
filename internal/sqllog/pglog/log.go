package pglog

import (
	"bytes"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"testing/fstest"
	"text/template"

	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/sqllog"
)

//go:embed sql/*.sql
var files embed.FS

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
	for name, into := range map[string]*string{
		"append": &l.sql.append, "append_one": &l.sql.appendOne, "create_cursor": &l.sql.createCursor, "lease": &l.sql.lease,
		"lease_state": &l.sql.leaseState, "renew": &l.sql.renew, "release": &l.sql.release,
		"advance": &l.sql.advance, "open_window": &l.sql.openWindow, "read_window": &l.sql.readWindow,
		"backlog": &l.sql.backlog, "prune": &l.sql.prune,
		"rebase_rows": &l.sql.rebaseRows, "rebase_cursors": &l.sql.rebaseCursors,
	} {
		text, err := l.render("sql/" + name + ".sql")
		if err != nil {
			return nil, err
		}
		*into = string(text)
	}
	return l, nil
}

// Migrations returns the schema of the log's two tables.
func (l *Log) Migrations() (migrate.Set, error) {
	const first = "0001_log.sql"
	text, err := l.render("sql/" + first)
	if err != nil {
		return migrate.Set{}, err
	}
	return migrate.Set{
		Package: l.tables.Package + "_log",
		Dialect: "postgres",
		FS:      fstest.MapFS{first: &fstest.MapFile{Data: text}},
	}, nil
}

func (l *Log) render(name string) ([]byte, error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("pglog: %w", err)
	}
	t, err := template.New(name).
		Funcs(template.FuncMap{"add": func(a, b int) int { return a + b }}).
		Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("pglog: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, l.tables); err != nil {
		return nil, fmt.Errorf("pglog: %w", err)
	}
	return out.Bytes(), nil
}
