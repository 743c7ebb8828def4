package pgbus

import (
	"context"
	"database/sql"
	"errors"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/log/logbus"
	"github.com/millrace-go/millrace/internal/log/logsub"
	"github.com/millrace-go/millrace/internal/log/pglog"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/pgdb"
)

// openLog starts the bus on the log of package pglog. The pool belongs to the bus, even if the
// application's pool is on the same database: the application's use of its connections cannot
// prevent partitions from being read, leases from being renewed, or cursors from being moved.
func openLog(pool *sql.DB, cfg logbus.Settings) (driver.Driver, error) {
	log, err := pglog.New(pool, logbus.Tables())
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	said := newNotices()
	hub := cfg.Hub()
	hub.PollInterval = cfg.Poll
	d, err := logbus.Open(logbus.Parts{
		Name: "pgbus", Log: log, Files: files, Dialect: migrate.Postgres, OneStatement: true,
		DB: pool, App: cfg.DB, Same: same(tablesOfLog), Classify: pgdb.Classify,
		Tick: tick,
		Wake: func(ctx context.Context, c logsub.Change) error { return log.NotifyText(ctx, said.text(c)) },
		Watch: func(ctx context.Context, hub *logsub.Hub) {
			if err := log.ListenText(ctx, func(text string) { said.hear(text, hub) }); err != nil {
				cfg.Logger.Warn("pgbus: no wake-ups from other processes; reading at the poll interval stands in", "error", err)
			}
		},
	}, hub)
	if err != nil {
		return nil, err
	}
	return d, nil
}
