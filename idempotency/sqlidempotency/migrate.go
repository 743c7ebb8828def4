package sqlidempotency

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/millrace-go/millrace/internal/migrate"
)

//go:embed sql
var files embed.FS

// folder is where the dialect's and layout's files are.
func (c Config) folder() string { return "sql/" + string(c.Dialect) + "/" + string(c.Layout) }

func (c Config) statement(name string) (string, error) {
	text, err := files.ReadFile(c.folder() + "/" + name + ".sql")
	if err != nil {
		return "", fmt.Errorf("sqlidempotency: %w", err)
	}
	return strings.ReplaceAll(string(text), "{{table}}", c.Table), nil
}

func (c Config) migrations() (migrate.Set, error) {
	sub, err := fs.Sub(files, c.folder()+"/migrations")
	if err != nil {
		return migrate.Set{}, fmt.Errorf("sqlidempotency: %w", err)
	}
	rendered, err := migrate.Render(sub, "{{table}}", c.Table)
	if err != nil {
		return migrate.Set{}, err
	}
	set := migrate.Set{Package: "idempotency", Dialect: migrate.Postgres, FS: rendered}
	if c.Dialect == SQLite {
		set.Dialect = migrate.SQLite
	}
	// Several tables in one database must not share a version.
	if c.Table != string(EventHandled) {
		set.Package += "_" + c.Table
	}
	return set, nil
}

// Migrate makes or updates the table. Several processes may do so at once. The
// version is kept in millrace_idempotency_version, for tables of another name
// in millrace_idempotency_{table}_version.
func (s *Store) Migrate(ctx context.Context) error {
	set, err := s.cfg.migrations()
	if err != nil {
		return err
	}
	if err := set.Up(ctx, s.db); err != nil {
		return fmt.Errorf("sqlidempotency: %w", err)
	}
	return nil
}

// PrintMigrations writes the migrations as one SQL script for an empty
// database, for teams that run such scripts by themselves. Migrate then adds
// only what is newer.
func (s *Store) PrintMigrations(w io.Writer) error {
	set, err := s.cfg.migrations()
	if err != nil {
		return err
	}
	return set.Print(w)
}

// Migrations returns the migration files in goose's format, with the table's
// name filled in, for teams that embed them among their own.
func (s *Store) Migrations() (fs.FS, error) {
	set, err := s.cfg.migrations()
	return set.FS, err
}
