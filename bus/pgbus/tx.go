package pgbus

import (
	"database/sql"
	"errors"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/log/logbus"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/txbus"
)

// openTx starts Watermill SQL on the database. Deliveries have a pool of their own: each holds a
// connection while its handler works, and must not take the connections of publishers.
func openTx(url string, pool *sql.DB, cfg logbus.Settings) (driver.Driver, error) {
	deliveries, err := pgdb.Open(url)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	deliveries.SetMaxOpenConns(0) // there are no more than consumers
	d, err := txbus.Open(txbus.Parts{
		Name: "pgbus", Dialect: watermillSQL{}, DB: pool, Deliveries: deliveries, App: cfg.DB,
		Classify: pgdb.Classify, Poll: cfg.Poll, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}
