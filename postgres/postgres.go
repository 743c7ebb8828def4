// Package postgres makes a PostgreSQL database for the front door: the outbox, the idempotency
// keys and the transport of an application are in its own database.
//
//	app, err := millrace.New(postgres.Open("postgres://app:secret@db:5432/app"), millrace.Config{Service: "orders"})
//
// The guarantees of package millrace hold: its tests run on this package. Failure modes are
// those of packages pgoutbox and pgbus.
package postgres

import (
	"database/sql"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/pgbus"
	"github.com/millrace-go/millrace/driver"
	"github.com/millrace-go/millrace/internal/pgdb"
	outboxdriver "github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

// Open returns the database at a URL, or at $MILLRACE_DB_URL when the URL is empty.
// millrace.New opens its pool, of pgx's database/sql driver, and App.Close closes it.
func Open(url string) millrace.Database[*sql.Tx] { return database().Open(url) }

// SQL returns the database of the application's own pool of pgx's database/sql driver, which
// stays open. Config.Bus has to name the transport.
func SQL(db *sql.DB) millrace.Database[*sql.Tx] { return database().Pool(db) }

func database() driver.SQLDatabase {
	return driver.SQLDatabase{
		Name: "postgres", Dialect: sqltx.Postgres, Classify: pgoutbox.Classify,
		Connect: pgdb.Open,
		Outbox:  func(db *sql.DB) (outboxdriver.SQLStore, error) { return pgoutbox.New(db, pgoutbox.Config{}) },
		Log:     func(db *sql.DB) bus.Scheme { return pgbus.Scheme(pgbus.Config{DB: db}) },
	}
}
