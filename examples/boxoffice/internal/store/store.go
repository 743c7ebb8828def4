package store

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/sqltx"
)

//go:embed sql/store.sql
var storeSQL string

type statements struct {
	AddShow, AddSeats, Seeded            string
	AddClass, AddPerformer, Bill, Now    string
	RecordEffect, KnowsMember, AddMember string
	TakeLease, MakeLease                 string
	KeepLease, DropLease                 string
	LastSetting, AddSetting              string
}

// Store is the opened database. It is safe for concurrent use.
type Store struct {
	writer, reader *sql.DB
	dialect        dialect
	sql            statements
	batch          *batcher
}

// Open opens the database that url names, brings its tables up to date and
// makes the shows and seats it begins with. The caller closes it.
func Open(ctx context.Context, url string) (*Store, error) {
	d, err := dialectOf(url)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	s := &Store{dialect: d}
	if err := s.Load(storeSQL, &s.sql); err != nil {
		return nil, err
	}
	if s.writer, s.reader, err = d.open(url); err != nil {
		return nil, fmt.Errorf("store: open: %w", err)
	}
	s.batch = newBatcher(s.writer)
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) prepare(ctx context.Context) error {
	set, err := s.dialect.migrations()
	if err != nil {
		return fmt.Errorf("store: migrations: %w", err)
	}
	if err := set.Up(ctx, s.writer); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return s.seed(ctx)
}

// Close closes the pools.
func (s *Store) Close() error {
	return errors.Join(s.reader.Close(), s.writer.Close())
}

// DB is the pool that writes, for packages that bring their own tables into
// the same transactions.
func (s *Store) DB() *sql.DB { return s.writer }

// Reader is the pool that reads committed data without waiting for writers.
func (s *Store) Reader() *sql.DB { return s.reader }

// Dialect names the database as Millrace's packages do: "sqlite", "postgres" or
// "mysql".
func (s *Store) Dialect() string { return s.dialect.name }

// Classify judges the driver's errors.
func (s *Store) Classify(err error) fault.Class { return s.dialect.classify(err) }

// IsUnique reports whether err is a violation of a unique key.
func (s *Store) IsUnique(err error) bool { return s.dialect.isUnique(err) }

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	if err := s.reader.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return fmt.Errorf("store: %w", fault.MarkInfrastructure(err))
	}
	return nil
}

// Write runs fn in a transaction and returns when it is on the disk, or with fn's
// error and nothing changed. The context of fn carries the transaction (package
// sqltx), so that hooks run after the commit. fn may run more than once: writers lock
// the same seats in any order, and the database ends a deadlock by rolling one of
// them back.
func (s *Store) Write(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	if _, joined := sqltx.On(ctx, s.writer); !joined && s.dialect.groupCommit {
		return s.batch.do(ctx, fn)
	}
	return sqltx.Do(ctx, s.writer, fn)
}
