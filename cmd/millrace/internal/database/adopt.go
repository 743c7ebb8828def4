package database

import (
	"context"
	"errors"

	"github.com/millrace-go/millrace/internal/log/pglog"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/outbox/driver"
)

// ErrNoLogs is returned if the database has no tables that are read by position.
var ErrNoLogs = errors.New("the database has no outbox, no transport and no log of counters; `migrate up` makes their tables")

// Log is a table of events or changes whose readers keep positions.
type Log struct {
	Name    string         // its name in the tool
	Adopter driver.Adopter // nil if positions move with the data
}

// Logs returns the outboxes of the given kinds. Without kinds it returns all outboxes, and
// also the transport and the log of counters, as far as the database has them.
func (d *Database) Logs(ctx context.Context, kinds ...Kind) ([]Log, error) {
	all := len(kinds) == 0
	if all {
		var err error
		if kinds, err = d.Kinds(ctx); err != nil {
			return nil, err
		}
	}
	var logs []Log
	for _, kind := range kinds {
		box, err := d.Outbox(ctx, kind)
		if err != nil {
			return nil, err
		}
		adopter, _ := box.(driver.Adopter)
		logs = append(logs, Log{"outbox (" + string(kind) + ")", adopter})
	}
	if !all {
		return logs, nil
	}
	for _, other := range []struct {
		name   string
		tables sqllog.Tables
	}{
		{"transport", sqllog.Tables{Messages: "bus_messages", Cursors: "bus_cursors", Package: "bus"}},
		{"counters", sqllog.Tables{Messages: "count_changes", Cursors: "count_cursors", Package: "counter"}},
	} {
		there, err := migrate.Exists(ctx, d.DB, d.Dialect.migrations(), "", other.tables.Cursors)
		if err != nil {
			return nil, err
		}
		if !there {
			continue
		}
		log := Log{Name: other.name}
		if d.Dialect == Postgres {
			store, err := pglog.New(d.DB, other.tables)
			if err != nil {
				return nil, err
			}
			log.Adopter, _ = any(store).(driver.Adopter)
		}
		logs = append(logs, log)
	}
	if len(logs) == 0 {
		return nil, ErrNoLogs
	}
	return logs, nil
}
