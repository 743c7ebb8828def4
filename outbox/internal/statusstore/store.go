package statusstore

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"

	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/pulse"
	"github.com/millrace-go/millrace/internal/sqlname"
	"github.com/millrace-go/millrace/migrations"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/sqlstore"
)

// Database holds the differences between the databases.
type Database struct {
	Pool *sql.DB
	// Reads, when not nil, is another pool for reads.
	Reads *sql.DB
	// Dialect is that of package migrate.
	Dialect string
	// Files holds the statements and the migrations NNNN_name.sql, with the default
	// names.
	Files fs.FS
	// Names are the names of the tables.
	Names sqlname.Names
	// Server is the expression for {{server}} in the statements, on databases where a read
	// position is invalid after a crash of the server.
	Server string
	// Reader reads pending events; nil means a reader with the statement of read.sql.
	Reader Reader
	// Append writes rows in one statement; when nil, the values of append.sql are repeated.
	Append Appender
	// IDs and Texts convert a list to one argument; nil means a JSON array.
	IDs   func([]int64) any
	Texts func([]string) any
	// Rows converts the seqs and ids of rows to the last arguments of the statements that mark
	// rows; nil means one JSON array of pairs.
	Rows func(seqs []int64, ids []string) []any
	// MaxName and MaxText are the longest topic, and the longest key or type, in characters; 0
	// when there is no such bound.
	MaxName, MaxText int
}

// Store implements driver.Store and its optional interfaces, except those that reach other
// processes.
type Store struct {
	pulse.Pulse

	db, reads *sql.DB
	reader    Reader
	append    Appender
	ids       func([]int64) any
	texts     func([]string) any
	rows      func([]int64, []string) []any
	shards    int
	pruned    []atomic.Int64 // per shard, the row behind which pruning continues
	maxName   int
	maxText   int
	number    *sqlstore.Shards
	sql       statements
	set       migrate.Set
}

var (
	_ driver.Store     = (*Store)(nil)
	_ driver.Preferrer = (*Store)(nil)
	_ driver.Signal    = (*Store)(nil)
	_ driver.Pruner    = (*Store)(nil)
	_ driver.Parking   = (*Store)(nil)
	_ driver.Failing   = (*Store)(nil)
	_ driver.Inspector = (*Store)(nil)
)

// New creates a store, with 1 shard when shards is 0. It does no I/O.
func New(d Database, shards int) (*Store, error) {
	number, err := sqlstore.NewShards(shards, d.Dialect, d.Names.Table("outbox_event_settings"))
	if err != nil {
		return nil, err
	}
	statements, err := migrate.Render(d.Files, "[a-z]*.sql", d.Names.Text)
	if err != nil {
		return nil, err
	}
	migrations, err := migrate.Render(d.Files, "[0-9]*.sql", d.Names.Text)
	if err != nil {
		return nil, err
	}
	s := &Store{
		db: d.Pool, reads: d.Reads, reader: d.Reader, append: d.Append, ids: d.IDs, texts: d.Texts, rows: d.Rows,
		shards: number.N, number: number, pruned: make([]atomic.Int64, number.N), maxName: d.MaxName, maxText: d.MaxText,
	}
	if s.reads == nil {
		s.reads = d.Pool
	}
	if s.ids == nil {
		s.ids = func(ids []int64) any { return sqlstore.Array(ids) }
	}
	if s.texts == nil {
		s.texts = func(texts []string) any { return sqlstore.Array(texts) }
	}
	if s.rows == nil {
		s.rows = pairs
	}
	if err := s.sql.load(statements, d.Dialect, d.Server); err != nil {
		return nil, err
	}
	if s.reader == nil {
		s.reader = &pending{db: s.reads, ids: s.ids, read: s.sql.read, late: s.sql.late, some: s.sql.readSome}
	}
	if s.append == nil {
		s.append = s.appendValues
	}
	s.set = migrate.Set{Package: d.Names.Package("outbox_status"), Schema: d.Names.Schema, Dialect: d.Dialect, FS: migrations}
	return s, nil
}

// Prefer implements driver.Preferrer: a failing event is deferred so that others pass, and
// after 3 retries it is parked with a dead letter.
func (*Store) Prefer() driver.Preferences {
	return driver.Preferences{ByKey: true, MaxRetries: 3, DeadLetter: func(topic string) string { return topic + ".DLT" }}
}

// Migrate creates or updates the outbox's tables, stores the number of shards and creates their
// leases. Several processes may call it at once.
func (s *Store) Migrate(ctx context.Context) error {
	if err := s.set.Up(ctx, s.db); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	if _, err := s.Shards(ctx); err != nil {
		return err
	}
	origin, err := s.origin(ctx)
	if err != nil {
		return wrap("migrate", err)
	}
	for shard := range s.shards {
		if _, err := s.sql.leasePut.exec(ctx, s.db, shard, origin); err != nil {
			return wrap("migrate", err)
		}
	}
	return nil
}

// Shards implements driver.Store.
func (s *Store) Shards(ctx context.Context) (int, error) { return s.number.Store(ctx, s.db) }

// origin returns the position of a new lease.
func (s *Store) origin(ctx context.Context) (string, error) {
	start, err := s.reader.Begin(ctx, "")
	if err != nil {
		return "", err
	}
	return s.reader.Position(start), nil
}

// PrintMigrations writes the schema as a script for an empty database.
func (s *Store) PrintMigrations(w io.Writer) error {
	if err := s.set.Print(w); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	return nil
}

// Migrations returns the sets that Migrate runs, for a tool that runs them all.
func (s *Store) Migrations() ([]migrations.Set, error) {
	return []migrations.Set{migrations.Set(s.set)}, nil
}

// wrap names the operation.
func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("outbox: %s: %w", doing, err)
}
