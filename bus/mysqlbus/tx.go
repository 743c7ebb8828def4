package mysqlbus

import (
	"database/sql"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/log/logbus"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/txbus"
)

// openTx starts Watermill SQL on the database.
func openTx(url string, pool *sql.DB, cfg logbus.Settings) (driver.Driver, error) {
	return txbus.Open(txbus.Parts{
		Name: "mysqlbus", Dialect: newWatermillSQL(), DB: pool, Pool: mysqldb.Open, URL: url, App: cfg.DB, Same: same,
		Classify: mysqldb.Classify, Poll: cfg.Poll, Logger: cfg.Logger,
	})
}
