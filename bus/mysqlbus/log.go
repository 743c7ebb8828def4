package mysqlbus

import (
	"context"
	"database/sql"
	"errors"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/internal/log/logbus"
	"github.com/millrace-go/millrace/internal/log/logsub"
	"github.com/millrace-go/millrace/internal/log/mysqllog"
	"github.com/millrace-go/millrace/internal/mysqldb"
)

// openLog starts the bus on the log of package mysqllog. The pool belongs to the bus, even if
// the application's pool is on the same database: the application's use of its connections
// cannot prevent partitions from being read, leases from being renewed, or cursors from being
// moved.
func openLog(pool *sql.DB, cfg Config) (bus.Driver, error) {
	log, err := mysqllog.New(pool, tables)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	sets, err := setsOf(log)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	w, err := newWatcher(pool, cfg)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	d, err := logbus.Open(logbus.Parts{
		Name: "mysqlbus", Log: log, SQL: folder("sql"), Schema: sets, OneStatement: true,
		DB: pool, App: cfg.DB, Same: same, Classify: mysqldb.Classify,
		Watch: func(ctx context.Context, hub *logsub.Hub) { w.run(ctx, hub) },
		Close: func() error { return logbus.ClosePools(pool) },
	}, logsub.Config{
		Partitions: cfg.Partitions, Retention: cfg.Retention, LeaseTTL: cfg.LeaseTTL,
		Holder: cfg.Holder, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}
