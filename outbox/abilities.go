package outbox

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/sqltx"
)

// Preferrer is a store whose kind has defaults of its own.
type Preferrer interface {
	// Prefer fills fields of cfg that are zero.
	Prefer(cfg RelayConfig) RelayConfig
}

// Signal is a store through which the writers and relays of one process meet:
// Wake reaches every relay that has subscribed.
type Signal interface {
	Wake()
	Subscribe() (wakes <-chan struct{}, cancel func())
}

// Notifier is a store that can wake the relays of other processes.
type Notifier interface {
	// Notify wakes every listening process. It belongs after a commit.
	Notify(ctx context.Context) error
	// NotifyIn makes the commit of tx itself the wake-up.
	NotifyIn(ctx context.Context, tx sqltx.Execer) error
}

// Listener is a store that hears of commits in other processes.
type Listener interface {
	// Listen calls wake after such commits, and once after it has (re)connected,
	// until ctx is done. ErrUnsupported means that it never will, here or with
	// this pool.
	Listen(ctx context.Context, wake func()) error
}

// Pruner is a store that keeps published events for a while.
type Pruner interface {
	// Prune deletes up to limit events of the shard that were appended before
	// the given time and are finished, and returns how many.
	Prune(ctx context.Context, shard int, before time.Time, limit int) (int, error)
}

// Parking is a store whose parked events can be looked at and retried.
type Parking interface {
	// Parked lists parked events with an id above after, by id.
	Parked(ctx context.Context, after int64, limit int) ([]ParkedEvent, error)
	// Retry gives the named parked events back to the relay, behind everything
	// that waits, and returns how many it found.
	Retry(ctx context.Context, ids ...int64) (int, error)
	// RetryAll gives every parked event back, and returns how many.
	RetryAll(ctx context.Context) (int, error)
}

// ParkedEvent is an event that was given up.
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

// FailingEvent is an event that has failed and is tried again.
type FailingEvent struct {
	ID            int64
	Shard         int
	Topic         string
	MessageID     string
	Key           string
	CreatedAt     time.Time
	Aside         bool // it stands aside, so that other keys pass
	Attempts      int
	Retries       int           // see [Item]
	Age           time.Duration // see [Item]
	LastError     string
	FailedSince   time.Time
	NextAttemptAt time.Time // by the database's clock; it may lie in the past while no relay runs
}

// Inspector is a store that can say how things stand.
type Inspector interface {
	Stats(ctx context.Context) ([]ShardStats, error)
}

// BacklogLimit is how far a backlog is counted: some 40 ms of the database's time.
const BacklogLimit = 20_000

// ShardStats is how one shard stands.
type ShardStats struct {
	Shard   int
	Backlog int       // unpublished events, counted up to BacklogLimit
	Oldest  time.Time // when the oldest of them was appended; zero when there is none
	Aside   int       // of those, how many stand aside
	Failing int       // of those, how many have failed at least once
	Parked  int       // events given up
	Holder  string    // who holds the lease; "" when nobody does
}

// Snapshot is a view of the database that some transaction keeps. While it is kept the
// server cannot clear away what was deleted or replaced since.
type Snapshot struct {
	Age    time.Duration
	Holder string // for people: a session, a prepared transaction, a replication slot
}

// Snapshotter is a store that can tell the oldest snapshot on its server.
type Snapshotter interface {
	// OldestSnapshot returns the oldest, zero when there is none. Where the user may not
	// see other sessions, Holder says so.
	OldestSnapshot(ctx context.Context) (Snapshot, error)
}

// Rebaser is a store whose cursors mean nothing after its data was restored on
// another database system.
type Rebaser interface {
	// Rebase puts the cursors right; events appended since the given time are
	// published again.
	Rebase(ctx context.Context, since time.Time) error
}

// Adopter is a store that keeps its cursors when its data has moved to another
// database system with all that belongs to it, as pg_upgrade does.
type Adopter interface {
	// Adopt takes the cursors of another system as they are. It fails, and changes
	// nothing, when the system may give a transaction id out again that is stored: then
	// only a [Rebaser] can help. A store whose cursors are of this system is left alone.
	Adopt(ctx context.Context) error
}
