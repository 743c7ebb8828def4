package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
)

// The dialects a [Set] can be written in.
const (
	Postgres = "postgres"
	SQLite   = "sqlite3"
	MySQL    = "mysql" // and MariaDB
)

// Set is the migrations of one package in one dialect.
type Set struct {
	// Package names the owner of the tables, lower-case letters, digits and _.
	// Versions are kept in millrace_<Package>_version.
	Package string
	// Schema holds the tables and their versions: a schema of PostgreSQL, a database of MySQL.
	// It must exist, and its name is in the files. If it is "", names are resolved by the
	// connection.
	Schema string
	// Dialect is [Postgres], [SQLite] or [MySQL].
	Dialect string
	// FS holds NNNN_name.sql files at its root (use fs.Sub for a folder of an
	// embed.FS), each with "-- +goose Up" and optionally "-- +goose Down". A
	// semicolon at the end of a line ends a statement.
	FS fs.FS
}

var packageName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

func (s Set) validate() error {
	if !packageName.MatchString(s.Package) {
		return fmt.Errorf("migrate: Package %q is no plain SQL name; use lower-case letters, digits and _, at most 40", s.Package)
	}
	if s.Dialect != Postgres && s.Dialect != SQLite && s.Dialect != MySQL {
		return fmt.Errorf("migrate: Dialect %q is unknown; use %q, %q or %q", s.Dialect, Postgres, SQLite, MySQL)
	}
	if s.Schema != "" && s.Dialect == SQLite {
		return fmt.Errorf("migrate: Schema is %q; SQLite has none", s.Schema)
	}
	if s.FS == nil {
		return errors.New("migrate: FS is nil; give the folder with the .sql files")
	}
	return nil
}

// Table is the name of the version table, without the schema.
func (s Set) Table() string { return "millrace_" + s.Package + "_version" }

// Up applies the pending migrations, each in its own transaction (on MySQL as far as possible,
// see the package). It returns when the database is up to date, also through another process's
// work. A table of another owner under a name that a pending migration needs is an error, on
// MySQL [ErrForeignTable].
func (s Set) Up(ctx context.Context, db *sql.DB) error {
	if err := s.validate(); err != nil {
		return err
	}
	if err := s.schemaIsThere(ctx, db); err != nil {
		return err
	}
	all, err := s.migrations()
	if err == nil {
		err = s.up(ctx, db, all)
	}
	if err != nil {
		return fmt.Errorf("migrate: up %s: %w", s.Package, err)
	}
	return nil
}

func (s Set) up(ctx context.Context, db *sql.DB, all []migration) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // says only that the session was dropped
	r := runner{s, conn}

	applied, err := r.applied(ctx)
	if err != nil {
		return err
	}
	if len(pending(all, applied)) == 0 {
		return nil // the usual start of a process: no lock, no write
	}
	if s.Dialect == MySQL {
		if err := r.lock(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.unlock(context.WithoutCancel(ctx))) }()
		if applied, err = r.applied(ctx); err != nil {
			return err
		}
		if err := r.foreign(ctx, all, applied); err != nil {
			return err
		}
	}
	if err := r.alone(ctx, r.makeTable); err != nil {
		return fmt.Errorf("make %s: %w", r.table(), err)
	}
	for _, m := range pending(all, applied) {
		if err := r.alone(ctx, func(ctx context.Context) error { return r.apply(ctx, m) }); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// pending returns the migrations that are not applied, oldest first. A version below applied
// ones counts: branches merge in any order.
func pending(all []migration, applied map[int64]bool) (rest []migration) {
	for _, m := range all {
		if !applied[m.version] {
			rest = append(rest, m)
		}
	}
	return rest
}
