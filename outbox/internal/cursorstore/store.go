// Package cursorstore is the outbox's cursor store over any log of package log: an append-only
// table that is read behind a leased cursor, with failed events in tables beside it. The
// databases differ in their log and in the text of their statements.
package cursorstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/pulse"
	"github.com/millrace-go/millrace/internal/sqlname"
	"github.com/millrace-go/millrace/migrations"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/sqlstore"
)

// consumer is the relays' name in the log's cursors.
const consumer = "relay"

// Tables describes the outbox's log. Its labels are for change-data-capture readers, which
// route by columns.
func Tables(names sqlname.Names) sqllog.Tables {
	return sqllog.Tables{
		Schema: names.Schema, Messages: names.Name("outbox_messages"), Cursors: names.Name("outbox_cursors"),
		Package: names.Package("outbox"),
		Labels:  []string{"event_type", "aggregate_type", "aggregate_id"},
	}
}

// Store implements driver.Store and its optional interfaces, except those that reach other
// processes.
type Store struct {
	pulse.Pulse

	db      *sql.DB
	log     sqllog.Log
	shards  int
	number  *sqlstore.Shards
	started []atomic.Bool // a shard's cursor exists
	sql     statements
	sets    []migrate.Set
}

var (
	_ driver.Store     = (*Store)(nil)
	_ driver.Signal    = (*Store)(nil)
	_ driver.Pruner    = (*Store)(nil)
	_ driver.Parking   = (*Store)(nil)
	_ driver.Failing   = (*Store)(nil)
	_ driver.Inspector = (*Store)(nil)
	_ driver.Rebaser   = (*Store)(nil)
)

// New creates a store, with 1 shard when shards is 0. files holds the statements and the
// migrations NNNN_name.sql in the dialect of the log, with the default names. It does no I/O.
func New(db *sql.DB, log sqllog.Log, dialect string, files fs.FS, names sqlname.Names, shards int) (*Store, error) {
	number, err := sqlstore.NewShards(shards, dialect, names.Table("outbox_settings"))
	if err != nil {
		return nil, err
	}
	statements, err := migrate.Render(files, "[a-z]*.sql", names.Text)
	if err != nil {
		return nil, err
	}
	own, err := migrate.Render(files, "[0-9]*.sql", names.Text)
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, log: log, shards: number.N, number: number, started: make([]atomic.Bool, number.N)}
	if err := s.sql.load(statements); err != nil {
		return nil, err
	}
	set, err := log.Migrations()
	if err != nil {
		return nil, fmt.Errorf("outbox: migrations: %w", err)
	}
	s.sets = []migrate.Set{set, {Package: names.Package("outbox"), Schema: names.Schema, Dialect: dialect, FS: own}}
	return s, nil
}

// Migrate creates or updates the outbox's tables and stores the number of shards. Several
// processes may call it at once.
func (s *Store) Migrate(ctx context.Context) error {
	for _, set := range s.sets {
		if err := set.Up(ctx, s.db); err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
	}
	_, err := s.Shards(ctx)
	return err
}

// PrintMigrations writes the schema as a script for an empty database.
func (s *Store) PrintMigrations(w io.Writer) error {
	for _, set := range s.sets {
		if err := set.Print(w); err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
	}
	return nil
}

// Migrations returns the sets that Migrate runs, for a tool that runs them all.
func (s *Store) Migrations() ([]migrations.Set, error) {
	out := make([]migrations.Set, len(s.sets))
	for i, set := range s.sets {
		out[i] = migrations.Set(set)
	}
	return out, nil
}

// Release implements driver.Store.
func (s *Store) Release(ctx context.Context, l driver.Lease) error {
	t, err := tenureOf(l)
	if err != nil {
		return err
	}
	return wrap("release", s.log.Release(ctx, t.lease))
}

// Prune implements driver.Pruner. Deferred and parked events have their own rows, so Prune
// deletes no event that is still needed.
func (s *Store) Prune(ctx context.Context, shard int, before time.Time, limit int) (int, error) {
	if !s.started[shard].Load() {
		// The log keeps events that a cursor has yet to read; before the first relay there is
		// no cursor to keep events for.
		var n int
		if err := s.db.QueryRowContext(ctx, s.sql.cursorExists, consumer, shard).Scan(&n); err != nil || n == 0 {
			return 0, wrap("prune", err)
		}
		s.started[shard].Store(true)
	}
	n, err := s.log.Prune(ctx, shard, before, limit)
	return n, wrap("prune", err)
}

// Rebase implements driver.Rebaser.
func (s *Store) Rebase(ctx context.Context, since time.Time) error {
	for i := range s.shards {
		if err := s.log.Rebase(ctx, s.cursor(i), since); err != nil {
			return wrap("rebase", err)
		}
	}
	return nil
}

func (s *Store) cursor(shard int) log.Cursor {
	return log.Cursor{Consumer: consumer, Lane: shard}
}

// wrap names the operation and converts the log's errors to the outbox's.
func wrap(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, log.ErrLeaseHeld):
		err = driver.ErrLeaseHeld
	case errors.Is(err, log.ErrLeaseLost):
		err = driver.ErrLeaseLost
	case errors.Is(err, log.ErrForeignDatabase):
		err = fmt.Errorf("%w: %w", driver.ErrForeignDatabase, err)
	}
	return fmt.Errorf("outbox: %s: %w", doing, err)
}
