package store

import (
	"database/sql"
	"embed"
	"strings"

	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/pgdb"
)

//go:embed sql/postgres/*.sql
var postgresMigrations embed.FS

func postgres() dialect {
	return dialect{
		name:       "postgres",
		migrations: set(postgresMigrations, "sql/postgres", migrate.Postgres),
		// Stable within a statement, so that an index can be searched with it.
		rewrite: strings.NewReplacer(
			"now_ms()", "CAST(extract(epoch FROM statement_timestamp()) * 1000 AS BIGINT)",
		).Replace,
		open: func(url string) (writer, reader *sql.DB, err error) {
			db, err := pgdb.Open(url)
			return db, db, err
		},
		check:    checkServer,
		classify: pgdb.Classify,
		isUnique: pgdb.IsUnique,
		returns:  true,
	}
}
