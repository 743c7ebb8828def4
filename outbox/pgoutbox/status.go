package pgoutbox

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/internal/log/pglog"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/sqlname"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/sqlstore"
	"github.com/millrace-go/millrace/outbox/internal/statusstore"
)

//go:embed sql/status/*.sql
var statusFiles embed.FS

type statusStore struct {
	*statusstore.Store
	server
	db     *sql.DB
	reader *windows
	sql    struct{ sweep, rebaseRows, rebasePruned, rebaseLease string }
	// settled counts the Settles of each shard: see Settle.
	settled []atomic.Int64
}

var (
	_ driver.Store    = (*statusStore)(nil)
	_ driver.Notifier = (*statusStore)(nil)
	_ driver.Listener = (*statusStore)(nil)
	_ driver.Rebaser  = (*statusStore)(nil)

	_ driver.Pruner      = (*statusStore)(nil)
	_ driver.Adopter     = (*statusStore)(nil)
	_ driver.Snapshotter = (*statusStore)(nil)
)

func newStatus(db *sql.DB, names sqlname.Names, cfg Config) (driver.SQLStore, error) {
	log, err := statusLog(db, names)
	if err != nil {
		return nil, err
	}
	sub, err := fs.Sub(statusFiles, "sql/status")
	if err != nil {
		return nil, fmt.Errorf("pgoutbox: %w", err)
	}
	reader := &windows{db: db, log: log}
	store, err := statusstore.New(statusstore.Database{
		Pool: db, Dialect: migrate.Postgres, Files: sub, Names: names, Server: pglog.Server, Reader: reader, Append: log.Append,
		IDs:   func(ids []int64) any { return ids },
		Texts: func(texts []string) any { return texts },
		Rows:  func(seqs []int64, ids []string) []any { return []any{seqs, ids} },
	}, cfg.Shards)
	if err != nil {
		return nil, err
	}
	s := &statusStore{
		Store: store, server: server{&snapshots{db: db}, log}, db: db, reader: reader, settled: make([]atomic.Int64, max(cfg.Shards, 1)),
	}
	err = statusTexts(names, map[string]*string{
		"sweep": &s.sql.sweep, "rebase_rows": &s.sql.rebaseRows, "rebase_pruned": &s.sql.rebasePruned, "rebase_lease": &s.sql.rebaseLease,
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// statusLog reads and appends like the log of the cursor store, on a table with further
// columns.
func statusLog(db *sql.DB, names sqlname.Names) (*pglog.Log, error) {
	log, err := pglog.New(db, sqllog.Tables{
		Schema: names.Schema, Messages: names.Name("outbox_events"), Cursors: names.Name("outbox_event"),
		Package: names.Package("outbox_status"), Labels: statusstore.Labels(),
	})
	if err != nil {
		return nil, fmt.Errorf("pgoutbox: %w", err)
	}
	var texts pglog.Statements
	err = statusTexts(names, map[string]*string{
		"append": &texts.Append, "append_one": &texts.AppendOne,
		"open_window": &texts.OpenWindow, "read_window": &texts.ReadWindow, "ahead": &texts.Ahead,
		"prune_chunk": &texts.Prune, "prune_late": &texts.PruneLate,
		"adopt_check": &texts.AdoptCheck, "adopt": &texts.Adopt,
	})
	if err != nil {
		return nil, err
	}
	if log, err = log.With(texts); err != nil {
		return nil, fmt.Errorf("pgoutbox: %w", err)
	}
	return log, nil
}

// statusTexts sets the texts of the statements in into.
func statusTexts(names sqlname.Names, into map[string]*string) error {
	filled := strings.NewReplacer("{{server}}", pglog.Server, "{{running}}", pglog.Running)
	for name, to := range into {
		text, err := fs.ReadFile(statusFiles, "sql/status/"+name+".sql")
		if err != nil {
			return fmt.Errorf("pgoutbox: %w", err)
		}
		*to = filled.Replace(names.Text(string(text)))
	}
	return nil
}

// sweepEvery is the number of Settles of a shard between two deletions of old progress rows.
const sweepEvery = 64

// Settle implements driver.Store. Every sweepEvery-th call deletes old progress rows.
func (s *statusStore) Settle(ctx context.Context, l driver.Lease, set driver.Settlement) error {
	if err := s.Store.Settle(ctx, l, set); err != nil {
		return err
	}
	if s.settled[l.Shard].Add(1)%sweepEvery != 1 {
		return nil
	}
	if _, err := s.db.ExecContext(ctx, s.sql.sweep, l.Shard); err != nil {
		return fmt.Errorf("pgoutbox: delete old rows of progress: %w", err)
	}
	return nil
}

// Prune implements driver.Pruner. It deletes rows in order, up to the first that is pending or
// not old enough. Failed rows stay until they are retried or deleted.
func (s *statusStore) Prune(ctx context.Context, shard int, before time.Time, limit int) (int, error) {
	return s.log.Prune(ctx, shard, before, limit)
}

// Retry implements driver.Parking, and wakes the relays of other processes.
func (s *statusStore) Retry(ctx context.Context, ids ...int64) (int, error) {
	return s.waking(ctx, s.Store.Retry, ids)
}

// RetryAll implements driver.Parking, and wakes the relays of other processes.
func (s *statusStore) RetryAll(ctx context.Context) (int, error) { return sqlstore.RetryAll(ctx, s) }
