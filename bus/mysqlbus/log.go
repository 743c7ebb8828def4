package mysqlbus

import (
	"cmp"
	"database/sql"
	"errors"
	"time"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/log/logbus"
	"github.com/millrace-go/millrace/internal/log/mysqllog"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/mysqldb"
)

// openLog starts the bus on the log of package mysqllog. The pool belongs to the bus, even if
// the application's pool is on the same database: the application's use of its connections
// cannot prevent partitions from being read, leases from being renewed, or cursors from being
// moved.
func openLog(pool *sql.DB, cfg logbus.Settings) (driver.Driver, error) {
	log, err := mysqllog.New(pool, logbus.Tables())
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	w := &watcher{pool, cmp.Or(cfg.Poll, 100*time.Millisecond), cfg.Logger}
	d, err := logbus.Open(logbus.Parts{
		Name: "mysqlbus", Log: log, Files: files, Dialect: migrate.MySQL, OneStatement: true,
		DB: pool, App: cfg.DB, Same: same, Classify: mysqldb.Classify,
		Watch: w.run,
	}, cfg.Hub())
	if err != nil {
		return nil, err
	}
	return d, nil
}
