// Package sqlite makes a SQLite database for the front door: the outbox, the idempotency keys
// and the transport of an application are in its own file.
//
//	app, err := millrace.New(sqlite.Open("sqlite://app.db"), millrace.Config{Service: "orders"})
//
// The guarantees of package millrace hold: its tests run on this package. Failure modes are
// those of package sqliteoutbox: the file must be on a local disk.
package sqlite

import (
	"database/sql"
	"strings"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/driver"
	outboxdriver "github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

// Open returns the database in the file of a path or a URL, such as app.db or sqlite://app.db,
// or of $MILLRACE_DB_URL, a URL, when url is empty. A missing file is created. millrace.New
// opens the pool, and App.Close closes it.
func Open(url string) millrace.Database[*sql.Tx] {
	if url != "" && !strings.Contains(url, "://") {
		url = scheme + url // a path
	}
	return database().Open(url)
}

// SQL returns the database of the application's own pool on a file, opened by sqliteoutbox.Open
// or with the same settings. The pool stays open. Config.Bus has to name the transport, such as
// sqlite://app.db.
func SQL(db *sql.DB) millrace.Database[*sql.Tx] { return database().Pool(db) }

const scheme = "sqlite://"

func database() driver.SQLDatabase {
	return driver.SQLDatabase{
		Name: "sqlite", Dialect: sqltx.SQLite, Classify: sqliteoutbox.Classify,
		Connect: func(url string) (*sql.DB, error) { return sqliteoutbox.Open(strings.TrimPrefix(url, scheme)) },
		Outbox:  func(db *sql.DB) (outboxdriver.SQLStore, error) { return sqliteoutbox.New(db, sqliteoutbox.Config{}) },
		Log:     func(db *sql.DB) bus.Scheme { return sqlitebus.Scheme(sqlitebus.Config{DB: db}) },
	}
}
