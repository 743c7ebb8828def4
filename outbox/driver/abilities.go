package driver

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/sqltx"
)

// Preferrer is a store that has its own defaults for a relay.
type Preferrer interface {
	Prefer() Preferences
}

// Preferences are a store's defaults for the zero fields of a RelayConfig.
type Preferences struct {
	ByKey      bool // the Ordering
	MaxRetries int
	DeadLetter func(topic string) string
}

// Signal is a store that connects the writers and relays of one process: Wake reaches every
// subscribed relay.
type Signal interface {
	Wake()
	Subscribe() (wakes <-chan struct{}, cancel func())
}

// Notifier is a store that can wake the relays of other processes.
type Notifier interface {
	// Notify wakes every listening process. Call it after a commit.
	Notify(ctx context.Context) error
	// NotifyIn makes the commit of tx the wake-up.
	NotifyIn(ctx context.Context, tx sqltx.Execer) error
}

// Listener is a store that can receive the wake-ups of other processes. A relay listens while it
// holds a shard.
type Listener interface {
	// Listen calls wake after commits in other processes, and once after it has (re)connected,
	// until ctx is done. ErrUnsupported means that Listen can never work, with this store or
	// with this pool.
	Listen(ctx context.Context, wake func()) error
}

// Pruner is a store that keeps published events until they are pruned.
type Pruner interface {
	// Prune deletes up to limit finished events of the shard that were appended before the
	// given time, and returns how many.
	Prune(ctx context.Context, shard int, before time.Time, limit int) (int, error)
}

// Parking is a store whose parked events can be listed and retried.
type Parking interface {
	// Parked lists parked events with an id above after, by id.
	Parked(ctx context.Context, after int64, limit int) ([]ParkedEvent, error)
	// Retry returns the given parked events to the relay, behind all waiting events, and
	// returns how many of them it found.
	Retry(ctx context.Context, ids ...int64) (int, error)
	// RetryAll returns every parked event to the relay, and returns how many. Events that are
	// parked while it runs stay parked.
	RetryAll(ctx context.Context) (int, error)
}

// ParkedEvent is an event that failed too often and waits for an operator.
type ParkedEvent struct {
	ID            int64
	Shard         int
	Topic         string
	MessageID     string
	Key           string
	Headers       string
	Payload       []byte
	CreatedAt     time.Time
	Attempts      int
	LastError     string
	FirstFailedAt time.Time
	ParkedAt      time.Time
}

// Failing is a store that can list the events that fail and are not parked yet.
type Failing interface {
	// Failing lists waiting events that have failed at least once, with an id above
	// after, by id.
	Failing(ctx context.Context, after int64, limit int) ([]FailingEvent, error)
}

// FailingEvent is an event that has failed and will be retried.
type FailingEvent struct {
	ID            int64
	Shard         int
	Topic         string
	MessageID     string
	Key           string
	CreatedAt     time.Time
	Aside         bool // deferred, so that events of other keys are published
	Attempts      int
	Retries       int           // see [Item]
	Age           time.Duration // see [Item]
	LastError     string
	FailedSince   time.Time
	NextAttemptAt time.Time // by the database's clock; in the past if no relay runs
}

// Inspector is a store that reports the state of its shards.
type Inspector interface {
	Stats(ctx context.Context) ([]ShardStats, error)
}

// BacklogLimit is the most that a backlog is counted: 20 ms of PostgreSQL, 60 of MySQL.
const BacklogLimit = 10_000

// ShardStats is the state of one shard.
type ShardStats struct {
	Shard   int
	Backlog int       // unpublished events, counted up to BacklogLimit
	Oldest  time.Time // when the oldest of them was appended; zero when there is none
	Aside   int       // how many of them are deferred
	Failing int       // how many of them have failed at least once
	Parked  int       // parked events
	Holder  string    // the holder of the lease; "" when the lease is free
}

// Snapshot is a snapshot of the database that a transaction holds. While it is held, the server
// cannot remove row versions that were deleted or replaced since.
type Snapshot struct {
	Age    time.Duration
	Holder string // for operators: a session, a prepared transaction, a replication slot
}

// Snapshotter is a store that can find the oldest snapshot on its server.
type Snapshotter interface {
	// OldestSnapshot returns the oldest snapshot, zero when there is none. If the user may not
	// see other sessions, Holder says so.
	OldestSnapshot(ctx context.Context) (Snapshot, error)
}

// Rebaser is a store whose cursors become invalid when its data is restored on another database
// system.
type Rebaser interface {
	// Rebase makes the cursors valid again; events appended since the given time are published
	// again.
	Rebase(ctx context.Context, since time.Time) error
}

// Adopter is a store that can keep its cursors when its data, with all transaction ids, has
// moved to another database system, as pg_upgrade does.
type Adopter interface {
	// Adopt accepts the cursors of the other system. It fails, and changes nothing, if the
	// system could assign a stored transaction id again: then only a [Rebaser] can help. If the
	// cursors belong to this system already, Adopt changes nothing.
	Adopt(ctx context.Context) error
}
