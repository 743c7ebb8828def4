package pgbus

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/internal/log/logbus"
	"github.com/millrace-go/millrace/internal/log/logsub"
	"github.com/millrace-go/millrace/internal/log/pglog"
	"github.com/millrace-go/millrace/internal/onedb"
	"github.com/millrace-go/millrace/internal/pgdb"
)

// openLog starts the bus on the log of package pglog. The pool belongs to the bus, even if the
// application's pool is on the same database: the application's use of its connections cannot
// prevent partitions from being read, leases from being renewed, or cursors from being moved.
func openLog(pool *sql.DB, cfg Config) (bus.Driver, error) {
	log, err := pglog.New(pool, tables)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	sets, err := setsOf(log)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	said := newNotices()
	bell := logsub.NewBell(tick, func(ctx context.Context, c logsub.Change) error {
		return log.NotifyText(ctx, said.text(c))
	})
	d, err := logbus.Open(logbus.Parts{
		Name: "pgbus", Log: log, SQL: folder("sql"), Schema: sets, OneStatement: true,
		DB: pool, App: cfg.DB, Classify: pgdb.Classify, Announce: bell.Ring,
		Same: func(ctx context.Context, db *sql.DB, app onedb.Querier) (bool, error) {
			return same(ctx, db, app, tablesOfLog)
		},
		Watch: func(ctx context.Context, hub *logsub.Hub) {
			var wg sync.WaitGroup
			wg.Go(func() { bell.Run(ctx, cfg.Logger) })
			wg.Go(func() {
				if err := log.ListenText(ctx, func(text string) { said.hear(text, hub) }); err != nil {
					cfg.Logger.Warn("pgbus: no wake-ups from other processes; reading at the poll interval stands in", "error", err)
				}
			})
			wg.Wait()
		},
		Close: func() error { return logbus.ClosePools(pool) },
	}, logsub.Config{
		Partitions: cfg.Partitions, Retention: cfg.Retention, LeaseTTL: cfg.LeaseTTL,
		PollInterval: cfg.Poll, Holder: cfg.Holder, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}
