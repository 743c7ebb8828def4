package mysqloutbox

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/millrace-go/millrace/internal/log/mysqllog"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/sqlname"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/statusstore"
)

//go:embed sql/status/*.sql
var statusFiles embed.FS

type statusStore struct {
	*statusstore.Store
	transactions
	poll time.Duration
}

var (
	_ driver.Store    = (*statusStore)(nil)
	_ driver.Listener = (*statusStore)(nil)
)

// NewStatus makes a status store over db, a pool of
// github.com/go-sql-driver/mysql. It does no I/O; call Migrate once before use. It is also a driver.Listener, Snapshotter and
// Preferrer.
func NewStatus(db *sql.DB, cfg Config) (driver.SQLStore, error) {
	if db == nil {
		return nil, errors.New("mysqloutbox: db is nil")
	}
	names := sqlname.Names{Schema: cfg.Schema, Prefix: cfg.Prefix}
	if err := names.Validate("Config.Schema", "Config.Prefix"); err != nil {
		return nil, fmt.Errorf("mysqloutbox: %w", err)
	}
	sub, err := fs.Sub(statusFiles, "sql/status")
	if err != nil {
		return nil, fmt.Errorf("mysqloutbox: %w", err)
	}
	store, err := statusstore.New(statusstore.Database{
		Pool: db, Dialect: migrate.MySQL, Files: sub, Names: names, Server: mysqllog.Server, MaxName: 255, MaxText: 1000,
	}, cfg.Shards)
	if err != nil {
		return nil, err
	}
	if cfg.Poll == 0 {
		cfg.Poll = statusstore.WatchInterval
	}
	return &statusStore{Store: store, transactions: transactions{db}, poll: cfg.Poll}, nil
}

// Listen implements driver.Listener by polling, see Config.Poll.
func (s *statusStore) Listen(ctx context.Context, wake func()) error {
	if s.poll < 0 {
		return fmt.Errorf("mysqloutbox: Config.Poll is negative: %w", driver.ErrUnsupported)
	}
	return s.Watch(ctx, s.poll, wake)
}
