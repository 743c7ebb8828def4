package store

import (
	"database/sql"
	"embed"
	"regexp"
	"strings"

	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
)

//go:embed sql/mysql/*.sql
var mysqlMigrations embed.FS

// mysql is MariaDB and MySQL. The writing pool accepts the shared SQL's numbered
// parameters and its ||; the same pool serves the packages that bring SQL of their
// own.
func mysql() dialect {
	return dialect{
		name:       "mysql",
		migrations: set(mysqlMigrations, "sql/mysql", migrate.MySQL, strings.Clone),
		rewrite:    forMySQL,
		open:       openMySQL,
		check:      checkServer,
		classify:   mysqloutbox.Classify,
		isUnique:   mysqldb.IsUnique,
	}
}

func openMySQL(url string) (writer, reader *sql.DB, err error) {
	c, err := mysqldb.Connector(url)
	if err != nil {
		return nil, nil, err
	}
	db := mysqldb.Pool(standard{c})
	return db, db, nil
}

var doNothing = regexp.MustCompile(`ON CONFLICT \((\w+)[^)]*\) DO NOTHING`)

// forMySQL rewrites the clauses in which MySQL differs. An existing row is kept by
// setting a column to itself: INSERT IGNORE would hide other errors too.
func forMySQL(text string) string {
	text = doNothing.ReplaceAllString(text, "ON DUPLICATE KEY UPDATE $1 = $1")
	return strings.ReplaceAll(text, "now_ms()", "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)")
}
