package sqlcounter

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/mysqllog"
	"github.com/millrace-go/millrace/internal/log/pglog"
	"github.com/millrace-go/millrace/internal/log/sqlitelog"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/migrations"
	"github.com/millrace-go/millrace/sqltx"
)

// changes is the log of one counter's change rows, in the table count_changes.
type changes struct {
	db      *sql.DB
	name    string
	log     sqllog.Log
	cursor  log.Cursor
	holder  string
	checked atomic.Bool // the cursor exists and belongs to this database
	dialect dialect
	stands  string
	last    atomic.Pointer[log.Position] // the end of the last Read
}

// NewLog creates the log of a counter on db, which the caller closes. It does not connect to
// the database; Migrate creates the tables. PostgreSQL needs pgx's database/sql driver.
func NewLog(db *sql.DB, d sqltx.Dialect, name string) (driver.SQLLog, error) {
	if db == nil {
		return nil, errors.New("sqlcounter: db is nil; open the database that has what is counted")
	}
	if err := driver.CheckName(name); err != nil {
		return nil, err
	}
	if err := dialect(d).validate("the dialect"); err != nil {
		return nil, err
	}
	tables := sqllog.Tables{Messages: "count_changes", Cursors: "count_cursors", Package: "counter"}
	var rows sqllog.Log
	var err error
	switch dialect(d) {
	case postgres:
		rows, err = pglog.New(db, tables)
	case mysql:
		rows, err = mysqllog.New(db, tables)
	default:
		rows, err = sqlitelog.New(db, tables)
	}
	if err != nil {
		return nil, fmt.Errorf("sqlcounter: %w", err)
	}
	stands, err := dialect(d).statement("stands")
	if err != nil {
		return nil, err
	}
	return &changes{
		db: db, name: name, log: rows, dialect: dialect(d), stands: stands, cursor: log.Cursor{Consumer: name, Lane: lane},
		holder: strings.ToLower(rand.Text()),
	}, nil
}

// lane is the only lane: one reader reads all changes, in the order of all commits.
const lane = 0

// Migrate creates or updates the log's tables. Several processes may do so at once. The version
// is kept in millrace_counter_log_version. From then on no change of the counter is trimmed
// before it is applied.
func (l *changes) Migrate(ctx context.Context) error {
	set, err := l.log.Migrations()
	if err == nil {
		err = set.Up(ctx, l.db)
	}
	if err == nil {
		err = l.check(ctx)
	}
	if err != nil {
		return fmt.Errorf("sqlcounter: %w", err)
	}
	return nil
}

// PrintMigrations writes the migrations as one SQL script for an empty database.
func (l *changes) PrintMigrations(w io.Writer) error {
	set, err := l.log.Migrations()
	if err != nil {
		return fmt.Errorf("sqlcounter: %w", err)
	}
	return set.Print(w)
}

// Migrations implements [migrations.Migrator].
func (l *changes) Migrations() ([]migrations.Set, error) {
	set, err := l.log.Migrations()
	return []migrations.Set{migrations.Set(set)}, err
}

// Append implements [driver.SQLLog].
func (l *changes) Append(ctx context.Context, x sqltx.Execer, changes ...driver.Change) error {
	if err := sqltx.CheckTx(x); err != nil {
		return failed("append changes of", l.name, err)
	}
	entries := make([]log.Entry, len(changes))
	for i, c := range changes {
		if err := driver.CheckChange(c.Key, c.N); err != nil {
			return err
		}
		entries[i] = log.Entry{
			Lane: lane, Topic: l.name, MessageID: strings.ToLower(rand.Text()), Key: c.Key,
			Payload: strconv.AppendInt(nil, c.N, 10),
		}
	}
	if err := l.log.Append(ctx, x, entries); err != nil {
		return failed("append changes of", l.name, err)
	}
	return nil
}

// Read implements [driver.Source].
func (l *changes) Read(ctx context.Context, after string, limit int) ([]driver.Change, string, error) {
	at, err := position(after)
	if err == nil {
		err = l.check(ctx)
	}
	if err != nil {
		return nil, after, failed("read changes of", l.name, err)
	}
	var out []driver.Change
	for {
		// Always a full page, so that a few missing changes are not sought row by row.
		entries, next, err := l.log.Read(ctx, lane, at, limit)
		if err != nil {
			return nil, after, failed("read changes of", l.name, err)
		}
		for i := range entries {
			if entries[i].Topic != l.name {
				continue
			}
			c, err := change(&entries[i])
			if err != nil {
				return nil, after, failed("read changes of", l.name, err)
			}
			if out = append(out, c); len(out) == limit {
				next = entries[i].Position
				break
			}
		}
		// Behind the rest of an open window there may be another window, and a read may end within one.
		windowed := at.To != "" || next.To != ""
		if at = next; len(out) == limit || len(entries) < limit && !windowed {
			l.last.Store(&at)
			return out, text(at), nil
		}
	}
}

func change(e *log.Entry) (driver.Change, error) {
	n, err := strconv.ParseInt(string(e.Payload), 10, 64)
	if err != nil {
		return driver.Change{}, fault.MarkPermanent(fmt.Errorf("the payload of row %d of count_changes is no number", e.ID))
	}
	return driver.Change{Key: e.Key, N: n}, nil
}

// Verify implements [driver.Verifier].
func (l *changes) Verify(ctx context.Context, after string) error {
	at, err := position(after)
	if err != nil {
		return failed("verify changes of", l.name, err)
	}
	if last := l.last.Load(); last != nil && text(*last) == after {
		at.Server = last.Server
	}
	var args []any
	switch l.dialect {
	case mysql:
		args = []any{at.Row, at.Row, at.ID}
	case sqlite:
		args = []any{at.ID}
	}
	var here string
	var there bool
	if err := sqllog.Joined(ctx, l.db).QueryRowContext(ctx, l.stands, args...).Scan(&here, &there); err != nil {
		return failed("verify changes of", l.name, err)
	}
	switch {
	case at.Server != "" && at.Server != here:
		return failed("verify changes of", l.name, fmt.Errorf("they were read on server %s, and this is %s: %w", at.Server, here, driver.ErrLeaseLost))
	case !there:
		return failed("verify changes of", l.name, fmt.Errorf("the server has lost row %d: %w", max(at.Row, at.ID), driver.ErrLeaseLost))
	}
	return nil
}

// check creates the cursor, which keeps changes from being trimmed, and refuses positions of
// another database.
func (l *changes) check(ctx context.Context) error {
	if l.checked.Load() {
		return nil
	}
	lease, err := l.log.Lease(ctx, l.cursor, l.holder, time.Second)
	switch {
	case errors.Is(err, log.ErrLeaseHeld): // by another process in check
	case err != nil:
		return err
	default:
		if err := l.log.Release(ctx, lease); err != nil {
			return err
		}
	}
	l.checked.Store(true)
	return nil
}

// Trim implements [driver.Trimmer]. While another process trims, it does nothing.
func (l *changes) Trim(ctx context.Context, applied string, age time.Duration, limit int) (int, error) {
	const ttl = 10 * time.Second
	at, err := position(applied)
	if err != nil {
		return 0, failed("trim changes of", l.name, err)
	}
	lease, err := l.log.Lease(ctx, l.cursor, l.holder, ttl)
	if errors.Is(err, log.ErrLeaseHeld) {
		return 0, nil
	}
	if err == nil {
		err = l.log.Advance(ctx, lease, at, ttl)
	}
	if err == nil {
		err = l.log.Release(ctx, lease)
	}
	if err != nil {
		return 0, failed("trim changes of", l.name, err)
	}
	n, err := l.log.Prune(ctx, lane, time.Now().Add(-age), limit)
	if err != nil {
		return n, failed("trim changes of", l.name, err)
	}
	return n, nil
}

// text returns a position as stored by the applier.
func text(p log.Position) string {
	p.Server = "" // a position outlives the server: the applier compares the server
	if p == (log.Position{}) {
		return ""
	}
	out, err := json.Marshal(p)
	if err != nil {
		panic(err) // a struct of three texts and numbers always marshals
	}
	return string(out)
}

func position(text string) (p log.Position, err error) {
	if text == "" {
		return p, nil
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, fault.MarkPermanent(errors.New("the position is not one of this log"))
	}
	return p, nil
}
