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
	// Schema is the database that holds the tables and their versions. It must be there
	// before Migrate. Empty for that of the connection.
	Schema string
	// Prefix begins the tables' names; "outbox" when empty. Two outboxes in one database
	// have two prefixes. Lower-case letters, digits and _, at most 24.
	Prefix string
	// Poll is how often a relay looks for what other processes have committed
	// when nothing comes. After something came it looks 2 ms later, then after a
	// tenth of the time since. 100 ms when zero, negative for never: then
	// RelayConfig.Interval is all they have. One look is one statement on an index,
	// and writes nothing.
	Poll time.Duration
}

// StatusStore is an outbox in MySQL or MariaDB that keeps the state of each
// event in its row. It implements outbox.Store and the optional outbox.Signal,
// Listener, Pruner, Parking, Failing, Inspector, Snapshotter and Preferrer, and adds
// Migrate, PrintMigrations and Migrations.
//
// Transactions do not commit in the order of their rows' numbers. A relay reads
// on behind the last row it has read, then looks which rows before it are pending
// that it has not in hand: those came late. A later event of a key is appended
// after the earlier one has committed, so whoever sees it finds the earlier one.
// Nothing is read with locks, and rows are marked by primary key, so nobody who
// appends waits.
//
//	property                                                  proven by
//	everything that package outbox promises                   TestStatusConformance
//	nothing lost, doubled or reordered under many writers,
//	rollbacks and a long transaction, which delays nobody     TestStatusStress, TestStatusLateCommit
//	state, published, published_at, retry_count, last_error
//	and next_retry_at say how an event fares                  TestStatusRows
//	marking and pruning wait for nobody who appends           TestStatusWaitsForNobody
//	any pool will do                                          TestStatusPlainPool
//	keys are compared byte by byte                            TestStatusKeysWithSpaces
//	commits of other processes are heard                      TestStatusOtherProcessesAreHeard
//	a failover ends the lease                                 TestStatusLeaseEndsWithTheServer
//	only the events that were read are marked                 TestStatusMarksByID
//
// A transaction that keeps an old snapshot for hours keeps InnoDB from purging,
// and each look for late rows then passes over one index entry for every event
// published since. Event ids must be UUIDs in lower case; keys, types and
// aggregates fit 1000 characters, topics 255. Published rows are deleted after
// RelayConfig.Retention, failed ones only by you.
//
// Tables: outbox_events, outbox_event_leases, outbox_event_settings.
type StatusStore struct {
	*statusstore.Store
	transactions
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
	names := sqlname.Names{Schema: cfg.Schema, Prefix: cfg.Prefix}
	if err := names.Validate("StatusConfig.Schema", "StatusConfig.Prefix"); err != nil {
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
	return &StatusStore{Store: store, transactions: transactions{db}, poll: cfg.Poll}, nil
}

// Listen implements outbox.Listener by looking again and again, see
// StatusConfig.Poll.
func (s *StatusStore) Listen(ctx context.Context, wake func()) error {
	if s.poll < 0 {
		return fmt.Errorf("mysqloutbox: StatusConfig.Poll is negative: %w", outbox.ErrUnsupported)
	}
	return s.Watch(ctx, s.poll, wake)
}
