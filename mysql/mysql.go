// Package mysql makes a MySQL or MariaDB database for the front door: the outbox, the
// idempotency keys and the transport of an application are in its own database.
//
//	app, err := millrace.New(mysql.Open("mysql://app:secret@db:3306/app"), millrace.Config{Service: "orders"})
//
// The guarantees of package millrace hold: its tests run on this package. Failure modes are
// those of packages mysqloutbox and mysqlbus.
package mysql

import (
	"database/sql"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/mysqlbus"
	"github.com/millrace-go/millrace/driver"
	"github.com/millrace-go/millrace/internal/mysqldb"
	outboxdriver "github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/sqltx"
)

// Open returns the database at a URL, or at $MILLRACE_DB_URL when the URL is empty.
// millrace.New opens its pool, of go-sql-driver/mysql, and App.Close closes it.
func Open(url string) millrace.Database[*sql.Tx] { return database().Open(url) }

// SQL returns the database of the application's own pool of go-sql-driver/mysql, which stays
// open. Config.Bus has to name the transport.
func SQL(db *sql.DB) millrace.Database[*sql.Tx] { return database().Pool(db) }

func database() driver.SQLDatabase {
	return driver.SQLDatabase{
		Name: "mysql", Dialect: sqltx.MySQL, Classify: mysqloutbox.Classify,
		Connect: mysqldb.Open,
		Outbox:  func(db *sql.DB) (outboxdriver.SQLStore, error) { return mysqloutbox.New(db, mysqloutbox.Config{}) },
		Log:     func(db *sql.DB) bus.Scheme { return mysqlbus.Scheme(mysqlbus.Config{DB: db}) },
	}
}
