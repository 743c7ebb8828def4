package sqlitebus

import (
	"database/sql"
	"embed"

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
