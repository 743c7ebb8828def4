package pgbus

import (
	"database/sql"
	"embed"

	"github.com/millrace-go/millrace/internal/log/logbus"
	"github.com/millrace-go/millrace/internal/log/pglog"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/migrations"
)

//go:embed sql
var files embed.FS

// Migrations returns the sets that the first use of a bus applies, for a tool that runs them all.
func Migrations() ([]migrations.Set, error) {
	log, err := pglog.New(new(sql.DB), logbus.Tables()) // only for its text
	if err != nil {
		return nil, err
	}
	return logbus.Migrations(log, files, migrate.Postgres)
}
