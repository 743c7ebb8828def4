package store

import (
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
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
		open:     openPostgres,
		check:    checkServer,
		classify: pgoutbox.Classify,
		isUnique: func(err error) bool {
			var refused *pgconn.PgError
			return errors.As(err, &refused) && refused.Code == "23505"
		},
		returns: true,
	}
}

func openPostgres(url string) (writer, reader *sql.DB, err error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		// The fields of this error contain the password, so it is not wrapped.
		return nil, nil, fmt.Errorf("%s", kit.HideURL(err, url).Error()) //nolint:errorlint // on purpose
	}
	db := stdlib.OpenDB(*cfg)
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db, db, nil
}
