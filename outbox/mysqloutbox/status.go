package mysqloutbox

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/internal/statusstore"
)

//go:embed sql/status/*.sql
var statusFiles embed.FS

// StatusConfig of a [StatusStore]. The zero value works.
type StatusConfig struct {
	// Shards is into how many parts the outbox is cut, each published by one
	// relay at a time; 1 when zero. It is stored on first use and cannot change
	// while events are there. An idle relay costs one statement per second and
	// shard, and what Poll costs.
	Shards int
	// Poll is how often a relay looks for what other processes have committed;
	// 100 ms when zero, negative for never: then RelayConfig.Interval is all they
	// have. One look is one statement on an index, and writes nothing.
	Poll time.Duration
}

// StatusStore is an outbox in MySQL or MariaDB that keeps the state of each
// event in its row. It implements outbox.Store and the optional outbox.Signal,
// Listener, Pruner, Parking, Inspector and Preferrer, and adds Migrate,
// PrintMigrations and Migrations.
type StatusStore struct {
	*statusstore.Store
	poll time.Duration
}

var (
	_ outbox.Store    = (*StatusStore)(nil)
	_ outbox.Listener = (*StatusStore)(nil)
)

// NewStatus makes a status store over db, a pool of
// github.com/go-sql-driver/mysql. It does no I/O; call Migrate once before use.
func NewStatus(db *sql.DB, cfg StatusConfig) (*StatusStore, error) {
	if db == nil {
		return nil, errors.New("mysqloutbox: db is nil")
	}
	sub, err := fs.Sub(statusFiles, "sql/status")
	if err != nil {
		return nil, fmt.Errorf("mysqloutbox: %w", err)
	}
	store, err := statusstore.New(statusstore.Database{
		Pool: db, Dialect: migrate.MySQL, Files: sub, MaxName: 255, MaxText: 1000,
	}, cfg.Shards)
	if err != nil {
		return nil, err
	}
	if cfg.Poll == 0 {
		cfg.Poll = statusstore.WatchInterval
	}
	return &StatusStore{Store: store, poll: cfg.Poll}, nil
}

// Listen implements outbox.Listener by looking again and again, see
// StatusConfig.Poll.
func (s *StatusStore) Listen(ctx context.Context, wake func()) error {
	if s.poll < 0 {
		return fmt.Errorf("mysqloutbox: StatusConfig.Poll is negative: %w", outbox.ErrUnsupported)
	}
	return s.Watch(ctx, s.poll, wake)
}
