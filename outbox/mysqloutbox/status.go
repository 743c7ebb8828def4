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

// StatusConfig configures a [StatusStore]. The zero value works.
type StatusConfig struct {
	// Shards is the number of parts of the outbox, each published by one relay at a time; 1
	// when zero. It is stored on first use and cannot change while there are events. An idle
	// relay costs one statement per second and shard, plus the cost of Poll.
	Shards int
	// Schema is the database of the tables and their versions. It must exist before Migrate.
	// When empty, it is the database of the connection.
	Schema string
	// Prefix begins the tables' names; "outbox" when empty. Two outboxes in one database have
	// two prefixes. Lower-case letters, digits and _, at most 24.
	Prefix string
	// Poll is how often a relay looks for commits of other processes when there are none;
	// 100 ms when zero, negative for never. After it found one, it looks 2 ms later, then after a
	// tenth of the time since. With a negative Poll, relays find those commits only after
	// RelayConfig.Interval. One look is one statement on an index, and writes nothing.
	Poll time.Duration
}

// StatusStore is an outbox in MySQL or MariaDB that keeps the state of each
// event in its row. It implements driver.Store and the optional driver.Signal,
// Listener, Pruner, Parking, Failing, Inspector, Snapshotter and Preferrer, and adds
// Migrate, PrintMigrations and Migrations.
//
// Transactions do not commit in the order of their rows' numbers. A relay reads the rows behind
// the last one that it has read, and then looks for pending rows before it that are not in
// flight: those were committed late. A later event of a key is appended after the earlier one
// has committed, so a read that finds the later one finds the earlier one too. Reads take no
// locks, and rows are marked by primary key, so no append waits.
//
//	property                                                  proven by
//	all guarantees of package outbox                          TestStatusConformance
//	nothing lost, doubled or reordered under many writers,
//	rollbacks and a long transaction, which delays no event   TestStatusStress, TestStatusLateCommit
//	state, published, published_at, retry_count, last_error
//	and next_retry_at show the state of an event              TestStatusRows
//	marking and pruning do not wait for appends               TestStatusWaitsForNobody
//	any pool will do                                          TestStatusPlainPool
//	keys are compared byte by byte                            TestStatusKeysWithSpaces
//	commits of other processes wake the relay                 TestStatusOtherProcessesAreHeard
//	a failover ends the lease                                 TestStatusLeaseEndsWithTheServer
//	only the events that were read are marked                 TestStatusMarksByID
//
// A transaction that holds an old snapshot for hours keeps InnoDB from purging, and each look
// for late rows then reads one index entry for every event published since. Event ids must be
// UUIDs in lower case; keys, types and aggregates have up to 1000 characters, topics 255.
// Published rows are deleted after RelayConfig.Retention; only you delete failed rows.
//
// Tables: outbox_events, outbox_event_leases, outbox_event_settings.
type StatusStore struct {
	*statusstore.Store
	transactions
	poll time.Duration
}

var (
	_ driver.Store    = (*StatusStore)(nil)
	_ driver.Listener = (*StatusStore)(nil)
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

// Listen implements driver.Listener by polling, see StatusConfig.Poll.
func (s *StatusStore) Listen(ctx context.Context, wake func()) error {
	if s.poll < 0 {
		return fmt.Errorf("mysqloutbox: StatusConfig.Poll is negative: %w", driver.ErrUnsupported)
	}
	return s.Watch(ctx, s.poll, wake)
}
