package mysqloutbox

import (
	"context"
	"database/sql"
	"embed"
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

func newStatus(db *sql.DB, names sqlname.Names, cfg Config) (driver.SQLStore, error) {
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
