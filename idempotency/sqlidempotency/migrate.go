package sqlidempotency

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/millrace-go/millrace/internal/migrate"
)

//go:embed sql
var embedded embed.FS

// files is the SQL for one table: its dialect, its layout, and its name.
type files struct {
	dialect Dialect
	layout  string
	table   string
}

func (f files) folder() string { return "sql/" + string(f.dialect) + "/" + f.layout }

func (f files) statement(name string) (string, error) {
	text, err := embedded.ReadFile(f.folder() + "/" + name + ".sql")
	if err != nil {
		return "", fmt.Errorf("sqlidempotency: %w", err)
	}
	return f.named(string(text)), nil
}

func (f files) named(text string) string { return strings.ReplaceAll(text, "{{table}}", f.table) }

// migrations returns the files with a separate version per table: several tables in one
// database must not share one.
func (f files) migrations() (migrate.Set, error) {
	sub, err := fs.Sub(embedded, f.folder()+"/migrations")
	if err != nil {
		return migrate.Set{}, fmt.Errorf("sqlidempotency: %w", err)
	}
	rendered, err := migrate.Render(sub, f.named)
	if err != nil {
		return migrate.Set{}, err
	}
	pkg := "idempotency"
	if f.table != string(EventHandled) {
		pkg += "_" + f.table
	}
	return migrate.Set{Package: pkg, Dialect: f.dialect.migrations(), FS: rendered}, nil
}

// migrations returns the migrator's name of the dialect.
func (d Dialect) migrations() string {
	switch d {
	case SQLite:
		return migrate.SQLite
	case MySQL:
		return migrate.MySQL
	}
	return migrate.Postgres
}

func up(ctx context.Context, set migrate.Set, db *sql.DB) error {
	if err := set.Up(ctx, db); err != nil {
		return fmt.Errorf("sqlidempotency: %w", err)
	}
	return nil
}

func (c Config) files() files { return files{c.Dialect, string(c.Layout), c.Table} }

// Migrate creates or updates the table. Several processes may do so at once. The version is
// kept in millrace_idempotency_version, for tables of another name in
// millrace_idempotency_{table}_version.
func (s *Store) Migrate(ctx context.Context) error {
	set, err := s.cfg.files().migrations()
	if err != nil {
		return err
	}
	return up(ctx, set, s.db)
}

// PrintMigrations writes the migrations as one SQL script for an empty database, for teams that
// run such scripts by themselves. Migrate then adds only newer migrations.
func (s *Store) PrintMigrations(w io.Writer) error {
	set, err := s.cfg.files().migrations()
	if err != nil {
		return err
	}
	return set.Print(w)
}

// Migrations returns the migration files in goose's format, with the table's name filled in,
// for teams that embed them among their own.
func (s *Store) Migrations() (fs.FS, error) {
	set, err := s.cfg.files().migrations()
	return set.FS, err
}
