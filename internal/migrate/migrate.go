package migrate

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"github.com/millrace-go/millrace/internal/sqlname"
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
	// Schema holds the tables and their versions: a schema of PostgreSQL, a database
	// of MySQL, which must be there, and whose name stands in the files. Where it is
	// "", names are looked up as those of the connection are.
	Schema string
	// Dialect is [Postgres], [SQLite] or [MySQL].
	Dialect string
	// FS holds NNNN_name.sql files at its root (use fs.Sub for a folder of an
	// embed.FS), each with "-- +goose Up" and optionally "-- +goose Down".
	FS fs.FS
}

// Status is one migration and when it was applied.
type Status struct {
	Version   int64
	Name      string    // the file's name
	Applied   bool      // false means pending
	AppliedAt time.Time // by the database's clock; zero when pending
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

// Up applies the pending migrations, each in its own transaction (on MySQL as
// far as that goes, see the package). It returns when the database is up to date,
// also by another process's work. A table of another owner under a name that a
// pending migration needs is an error, on MySQL [ErrForeignTable].
func (s Set) Up(ctx context.Context, db *sql.DB) error {
	if err := s.validate(); err != nil {
		return err
	}
	if err := s.schemaIsThere(ctx, db); err != nil {
		return err
	}
	// Another process can apply a migration between our look at the versions
	// and our transaction. Then ours was rolled back, and we look again; each
	// round moves on by at least one migration.
	for {
		p, v, err := s.provider(db)
		if err != nil {
			return err
		}
		_, err = p.Up(ctx)
		if err == nil {
			return nil
		}
		var partial *goose.PartialError
		if errors.As(err, &partial) {
			if _, e := v.GetMigration(ctx, db, partial.Failed.Source.Version); e == nil {
				continue
			}
			return fmt.Errorf("migrate: up %s: %s: %w", s.Package, path.Base(partial.Failed.Source.Path), partial.Err)
		}
		return fmt.Errorf("migrate: up %s: %w", s.Package, err)
	}
}

// Status lists all migrations of the set, oldest first.
func (s Set) Status(ctx context.Context, db *sql.DB) ([]Status, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	p, _, err := s.provider(db)
	if err != nil {
		return nil, err
	}
	rows, err := p.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrate: status of %s: %w", s.Package, err)
	}
	out := make([]Status, 0, len(rows))
	for _, r := range rows {
		out = append(out, Status{
			Version: r.Source.Version, Name: path.Base(r.Source.Path),
			Applied: r.State == goose.StateApplied, AppliedAt: r.AppliedAt,
		})
	}
	return out, nil
}

func (s Set) provider(db *sql.DB) (*goose.Provider, *versions, error) {
	inner, err := database.NewStore(database.Dialect(s.Dialect), sqlname.In(s.Schema, s.Table()))
	if err != nil {
		return nil, nil, fmt.Errorf("migrate: %s: %w", s.Package, err)
	}
	v := &versions{Store: inner, dialect: s.Dialect, schema: s.Schema, table: s.Table()}
	opts := []goose.ProviderOption{
		goose.WithStore(v), goose.WithAllowOutofOrder(true), goose.WithDisableGlobalRegistry(true),
	}
	switch s.Dialect {
	case Postgres:
		opts = append(opts, goose.WithSessionLocker(advisoryLock{v.Tablename()}))
	case MySQL:
		opts = append(opts, goose.WithSessionLocker(namedLock{v.Tablename(), func(ctx context.Context, conn *sql.Conn) error {
			return s.foreign(ctx, conn, v)
		}}))
	}
	p, err := goose.NewProvider(goose.DialectCustom, db, s.FS, opts...)
	if err != nil {
		return nil, nil, fmt.Errorf("migrate: %s: %w", s.Package, err)
	}
	return p, v, nil
}

// Print writes the migrations as one script for psql, sqlite3 or mysql. It also
// records the versions, so that a later Up adds only what is newer. The script
// is for an empty database.
func (s Set) Print(w io.Writer) error {
	if err := s.validate(); err != nil {
		return err
	}
	names, err := fs.Glob(s.FS, "*.sql")
	if err != nil {
		return fmt.Errorf("migrate: %s: %w", s.Package, err)
	}
	slices.Sort(names)
	versions := sqlname.In(s.Schema, s.Table())
	inner, err := database.NewStore(database.Dialect(s.Dialect), versions)
	if err != nil {
		return fmt.Errorf("migrate: %s: %w", s.Package, err)
	}
	var table recorder
	if err := inner.CreateVersionTable(context.Background(), &table); err != nil {
		return fmt.Errorf("migrate: %s: %w", s.Package, err)
	}
	applied := "true"
	if s.Dialect == SQLite {
		applied = "1"
	}
	var out bytes.Buffer
	record := func(version int64) {
		fmt.Fprintf(&out, "INSERT INTO %s (version_id, is_applied) VALUES (%d, %s);\n", versions, version, applied)
	}
	fmt.Fprintf(&out, "-- %s: tables of package %s (%s)\n%s;\n", versions, s.Package, s.Dialect, strings.TrimSpace(table.query))
	record(0)
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return fmt.Errorf("migrate: %s: %s: %w", s.Package, name, err)
		}
		text, err := fs.ReadFile(s.FS, name)
		if err != nil {
			return fmt.Errorf("migrate: %s: %w", s.Package, err)
		}
		fmt.Fprintf(&out, "\n-- %s\n%s\n", name, up(string(text)))
		record(version)
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("migrate: print %s: %w", s.Package, err)
	}
	return nil
}

// up returns the statements between "+goose Up" and "+goose Down".
func up(text string) string {
	var out []string
	in := false
	for line := range strings.Lines(text) {
		mark, ok := strings.CutPrefix(strings.TrimSpace(line), "-- +goose ")
		switch {
		case ok && strings.EqualFold(mark, "Up"):
			in = true
		case ok && strings.EqualFold(mark, "Down"):
			in = false
		case !ok && in:
			out = append(out, line)
		}
	}
	return strings.TrimSpace(strings.Join(out, ""))
}
