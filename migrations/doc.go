// Package migrations describes the migrations of the stores' tables, for tools that run those of
// all packages.
//
//	store, err := pgoutbox.New(db, pgoutbox.Config{})
//	…
//	err = store.Migrate(ctx)             // creates or updates the tables, or:
//	err = store.PrintMigrations(os.Stdout) // prints a script for an empty database, or:
//	sets, err := store.Migrations()      // hands the files to another tool
//
// Every store in SQL tables is a [Migrator]. Each package that owns tables has a version table of
// its own, so the packages can be updated one at a time, and in any order.
package migrations

import (
	"context"
	"io"
	"io/fs"
)

// Set is the migrations of one version table.
type Set struct {
	// Package names the version table, millrace_<Package>_version.
	Package string
	// Schema holds the tables and their versions: a schema of PostgreSQL, a database of MySQL. If
	// it is "", names are resolved by the connection.
	Schema string
	// Dialect is goose's name of the database: postgres, sqlite3 or mysql.
	Dialect string
	// FS holds the migration files, NNNN_name.sql, in goose's format.
	FS fs.FS
}

// Migrator creates the tables of a store.
type Migrator interface {
	// Migrate creates or updates the tables. Several processes may call it at once.
	Migrate(ctx context.Context) error
	// PrintMigrations writes the migrations as one script for an empty database, for teams that
	// run such scripts by themselves. Migrate then adds only newer migrations.
	PrintMigrations(w io.Writer) error
	// Migrations returns the sets that Migrate runs.
	Migrations() ([]Set, error)
}
