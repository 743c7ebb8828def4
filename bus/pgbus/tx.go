package pgbus

import (
	"database/sql"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/log/logbus"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/txbus"
)

// openTx starts Watermill SQL on the database.
func openTx(url string, pool *sql.DB, cfg logbus.Settings) (driver.Driver, error) {
	return txbus.Open(txbus.Parts{
		Name: "pgbus", Dialect: watermillSQL{}, DB: pool, Pool: pgdb.Open, URL: url, App: cfg.DB, Same: same(schemaOfTables),
		Classify: pgdb.Classify, Poll: cfg.Poll, Logger: cfg.Logger,
	})
}
