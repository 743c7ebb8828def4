package sqlitebus

import (
	"database/sql"
	"embed"
	"io"

	"github.com/millrace-go/millrace/internal/log/logbus"
	"github.com/millrace-go/millrace/internal/log/sqlitelog"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/migrations"
)

//go:embed sql
var files embed.FS

// Migrations returns the sets that Open applies, for a tool that runs them all.
func Migrations() ([]migrations.Set, error) {
	log, err := sqlitelog.New(new(sql.DB), logbus.Tables()) // only for its text
	if err != nil {
		return nil, err
	}
	return logbus.Migrations(log, files, migrate.SQLite)
}

// PrintMigrations writes the schema as a script for sqlite3. Open applies it itself; the script
// is for reading, and for tools that create tables by other means.
func PrintMigrations(w io.Writer) error { return logbus.Print(w, Migrations) }
