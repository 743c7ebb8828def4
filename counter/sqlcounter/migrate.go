package sqlcounter

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/millrace-go/millrace/internal/log/mysqllog"
	"github.com/millrace-go/millrace/internal/log/pglog"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/migrations"
)

//go:embed sql
var embedded embed.FS

func (d dialect) statement(name string) (string, error) {
	text, err := embedded.ReadFile("sql/" + string(d) + "/" + name + ".sql")
	if err != nil {
		return "", fmt.Errorf("sqlcounter: %w", err)
	}
	server := map[dialect]string{postgres: pglog.Server, mysql: mysqllog.Server, sqlite: "''"}[d]
	return strings.ReplaceAll(string(text), "{{server}}", server), nil
}

func (d dialect) migrations() (migrate.Set, error) {
	sub, err := fs.Sub(embedded, "sql/"+string(d)+"/migrations")
	if err != nil {
		return migrate.Set{}, fmt.Errorf("sqlcounter: %w", err)
	}
	name := map[dialect]string{postgres: migrate.Postgres, sqlite: migrate.SQLite, mysql: migrate.MySQL}[d]
	return migrate.Set{Package: "counter", Dialect: name, FS: sub}, nil
}

// Migrate creates or updates the tables of totals and batches. Several processes may do so at
// once. The version is kept in millrace_counter_version.
func (a *applier) Migrate(ctx context.Context) error {
	set, err := a.dialect.migrations()
	if err != nil {
		return err
	}
	if err := set.Up(ctx, a.db); err != nil {
		return fmt.Errorf("sqlcounter: %w", err)
	}
	return nil
}

// PrintMigrations writes the migrations as one SQL script for an empty database, for teams that
// run such scripts by themselves. Migrate then adds only newer migrations.
func (a *applier) PrintMigrations(w io.Writer) error {
	set, err := a.dialect.migrations()
	if err != nil {
		return err
	}
	return set.Print(w)
}

// Migrations implements [migrations.Migrator].
func (a *applier) Migrations() ([]migrations.Set, error) {
	set, err := a.dialect.migrations()
	return []migrations.Set{migrations.Set(set)}, err
}
