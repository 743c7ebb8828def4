// Package log is an append-only log that is read in a safe order behind a leased cursor.
// The cursor outbox, the counters' changes and the transports on PostgreSQL, MySQL, SQLite
// and Redis are this log.
//
// A log is divided into lanes, numbered by its owner (partitions of an outbox or of a topic).
// Entries of one key go to one lane. A consumer (the relay; a consumer group) keeps one cursor
// per lane. The holder of the cursor's lease reads, and the cursor moves only under the lease's
// fencing token:
//
//	lease, err := l.Lease(ctx, log.Cursor{Consumer: "postman", Lane: 0}, "me", 10*time.Second)
//	entries, next, err := l.Read(ctx, 0, lease.Position, 100)
//	err = l.Advance(ctx, lease, next, 10*time.Second)
//
//	property                                                pglog   mysqllog   sqlitelog   redisbus
//	no committed entry is ever skipped                      yes     yes        yes         yes
//	  because of                                            windows places     one writer  one thread
//	entries of a key are read in commit order, if they are
//	appended after the key's row lock is taken              yes     yes        yes         n/a (no transactions)
//	an uncommitted entry is never read                      yes     yes        yes         n/a
//	a foreign open transaction delays no reader             yes     yes        n/a         n/a
//	a holder that lost its lease cannot move the cursor     yes     yes        yes         yes
//	nothing stays open between calls                        yes     yes        yes         yes
//
// pglog reads windows between two snapshots; mysqllog gives each entry a place after its commit.
// Read returns entries in the order that the backend guarantees, and only the backend can
// interpret its positions. Package sqllog has the shared parts of logs in tables, package logsub
// the hub of the transports, and package logtest the conformance suite.
package log

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// ErrLeaseHeld is returned by Lease when another holder's lease is still valid.
var ErrLeaseHeld = errors.New("log: the lease is held by another instance")

// ErrLeaseLost is returned when a lease's token is no longer the current one.
var ErrLeaseLost = errors.New("log: the lease was lost")

// ErrForeignDatabase is returned when a cursor was written on another database system (a dump
// restored elsewhere): its position has no meaning here. The owner must first adopt or Rebase
// the cursor.
var ErrForeignDatabase = errors.New("log: the cursor belongs to another database system; after pg_upgrade adopt it (millrace outbox adopt), after a dump was restored rebase it")

// Entry is one record of the log.
type Entry struct {
	// Position is the cursor's position once this entry and all before it are done. Set by Read,
	// ignored by Append.
	Position Position
	// ID is the row's id: unique in the log, but not necessarily in reading order.
	ID int64

	Lane      int
	Topic     string
	MessageID string // unique per message, usually the event's UUID
	Key       string // "" is one key of its own
	Headers   string // encoded metadata: a JSON object, or "" for none
	Payload   []byte
	Labels    []string  // one value per Config.Labels column of the log; Read leaves it nil
	CreatedAt time.Time // set by the database's clock when appended
}

// Number is the entry's number for operators, which grows in reading order: the number of its
// place if the log gives places, otherwise of its row.
func (e Entry) Number() int64 {
	if e.Position.Row != 0 {
		return e.Position.ID
	}
	return e.ID
}

// Position is a position in the reading order of one lane. The zero Position is before every
// entry. Only the backend that made a Position can interpret it.
type Position struct {
	// From and To are the two snapshots of a window on PostgreSQL; empty elsewhere.
	From, To string
	// ID is the last row done: within the window on PostgreSQL, of the lane on SQLite; on MySQL
	// it is that row's place.
	ID int64
	// End is the last row of the window on PostgreSQL; 0 elsewhere.
	End int64
	// Row is the id of the row at the place ID on MySQL, where a place alone does not prove that
	// the same row is still there; 0 elsewhere and where it is not known.
	Row int64
	// Floor is an id below every row whose transaction began after From; 0 elsewhere and where
	// it is not known.
	Floor int64
	// Server identifies the run of the server on which the position was read, if positions have
	// no meaning on another: after a crash, after a failover, behind a proxy that reaches two
	// servers. "" is not compared.
	Server string
}

// Cursor identifies a consumer's cursor in a lane.
type Cursor struct {
	Consumer string
	Lane     int
}

// Lease is a held cursor. Token grows with every change of holder.
type Lease struct {
	Cursor
	Holder string
	Token  int64
	// Position is the cursor's position: Lease sets it, and the holder updates it after each
	// Advance. It names the server with which the lease ends.
	Position Position
}

// Log is a backend's interface for readers. Each backend appends in its own way: SQL logs append
// in a transaction of their caller. All methods are safe for concurrent use; none keeps a
// connection or a transaction after it returns. Renew, Release and Advance join a transaction on
// the log's database that the context carries.
type Log interface {
	// Lease takes the cursor for holder, or takes it again if holder has it, until ttl from now
	// by the database's clock. It creates a missing cursor at the earliest retained entry. The
	// token grows by one each time Lease succeeds. It fails with ErrLeaseHeld or
	// ErrForeignDatabase.
	Lease(ctx context.Context, c Cursor, holder string, ttl time.Duration) (Lease, error)
	// Renew extends held leases. It fails with ErrLeaseLost when one is lost, also when the
	// server is not that of its Position or the cursor is not at that Position; the others may
	// be extended then.
	Renew(ctx context.Context, ttl time.Duration, leases ...Lease) error
	// Release ends the lease early; a lost lease is not an error.
	Release(ctx context.Context, l Lease) error

	// Read returns up to max entries of the lane after the position, and the position to read
	// from next, which may have moved even without entries. Reading ahead of the cursor is
	// allowed. It fails with ErrLeaseLost when the position was read on another server.
	Read(ctx context.Context, lane int, after Position, max int) ([]Entry, Position, error)

	// Advance moves the cursor from l.Position to p and extends the lease by ttl. In a
	// transaction with further work it comes first, so that a new holder waits for all of it. It
	// fails with ErrLeaseLost when the token is not the current one, when the server is not that
	// of p, when the cursor is neither at l.Position nor at p (an Advance may be repeated), or
	// when the row at p is not the one that was read. Members of a group only move forward; p
	// may also be before l.Position, or be the zero Position.
	Advance(ctx context.Context, l Lease, p Position, ttl time.Duration) error

	// Prune deletes up to limit entries of the lane that are older than before and that every
	// cursor of the lane has passed, and returns the number.
	Prune(ctx context.Context, lane int, before time.Time, limit int) (int, error)

	// Backlog returns the number of entries after the consumer's cursors in consecutive lanes
	// from c.Lane on (in each counted up to limit), and the time at which the oldest of them was
	// appended (zero when there is none).
	Backlog(ctx context.Context, c Cursor, lanes, limit int) (n int, oldest time.Time, err error)
}

// EachBacklog implements Backlog for a log that is queried lane by lane.
func EachBacklog(c Cursor, lanes int, of func(c Cursor) (n int, oldest time.Time, err error)) (n int, oldest time.Time, err error) {
	for range lanes {
		more, since, err := of(c)
		if err != nil {
			return 0, time.Time{}, err
		}
		n += more
		if more > 0 && (oldest.IsZero() || since.Before(oldest)) {
			oldest = since
		}
		c.Lane++
	}
	return n, oldest, nil
}

// ByLane groups the entries by lane, in their order: a database writes neighbours in an index
// faster one after the other.
func ByLane(entries []Entry) []Entry {
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(entries[a].Lane, entries[b].Lane), cmp.Compare(a, b)) })
	sorted := make([]Entry, len(entries))
	for i, at := range order {
		sorted[i] = entries[at]
	}
	return sorted
}

// LaneOf maps a key to one of the lanes [0, lanes) with FNV-1a, so that every process, and a
// reader in another language, agrees. Keyless entries share lane 0.
func LaneOf(key string, lanes int) int {
	if lanes <= 1 || key == "" {
		return 0
	}
	h := uint32(2166136261) // as hash/fnv's New32a, which allocates
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * 16777619
	}
	return int(h % uint32(lanes))
}
