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
	"github.com/millrace-go/millrace/migrations"
)

//go:embed sql
var embedded embed.FS

// files is the SQL for one table: its dialect, its layout, and its name.
type files struct {
	dialect dialect
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
	rendered, err := migrate.Render(sub, "*.sql", f.named)
	if err != nil {
		return migrate.Set{}, err
	}
	pkg := "idempotency"
	if f.table != eventHandled {
		pkg += "_" + f.table
	}
	return migrate.Set{Package: pkg, Dialect: f.dialect.migrations(), FS: rendered}, nil
}

// migrations returns the migrator's name of the dialect.
func (d dialect) migrations() string {
	switch d {
	case sqlite:
		return migrate.SQLite
	case mysql:
		return migrate.MySQL
	}
	return migrate.Postgres
}

// schema is the table of a store or of its leases, in a database.
type schema struct {
	db    *sql.DB
	files files
}

// Migrate creates or updates the table. Several processes may do so at once. The version is
// kept in millrace_idempotency_version, for leases and for tables of another name in
// millrace_idempotency_{table}_version.
func (s schema) Migrate(ctx context.Context) error {
	set, err := s.files.migrations()
	if err != nil {
		return err
	}
	if err := set.Up(ctx, s.db); err != nil {
		return fmt.Errorf("sqlidempotency: %w", err)
	}
	return nil
}

// PrintMigrations writes the migrations as one SQL script for an empty database, for teams that
// run such scripts by themselves. Migrate then adds only newer migrations.
func (s schema) PrintMigrations(w io.Writer) error {
	set, err := s.files.migrations()
	if err != nil {
		return err
	}
	return set.Print(w)
}

// Migrations implements [migrations.Migrator]. The table's name is filled in.
func (s schema) Migrations() ([]migrations.Set, error) {
	set, err := s.files.migrations()
	if err != nil {
		return nil, err
	}
	return []migrations.Set{migrations.Set(set)}, nil
}
