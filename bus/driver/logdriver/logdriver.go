// Package logdriver makes a transport of an append-only log: members of a group share a topic's
// partitions under leases, and move a cursor past acknowledged messages. The transports on
// PostgreSQL, MySQL, SQLite, Redis and NATS are built on it.
//
// It is for authors of drivers whose server keeps a log and compares a revision when it writes.
// Package kit documents the rules of compatibility. A driver implements a [Log] and a
// [Directory], and embeds a [Driver]:
//
//	d, err := logdriver.NewDriver(logdriver.Parts{
//		Name:    "natsbus",
//		Backend: logdriver.Backend{Log: log, Directory: dir, Append: append, Begin: begin},
//		Start:   connect, Watch: watch, Close: close,
//	})
//
//	property                                                  proven by
//	a transport in a module of its own builds on it           package natsbus, TestModulesImportNothingInternal
//	order per key, also while members join and leave          TestHandOverKeepsOrder
//	no repeats without a crash, and few behind one            TestHandOverKeepsOrder, TestSpan
//	a holder that slept past its lease moves nothing          TestStalledHolder
//	a log and its leases keep their guarantees                TestSuite
package logdriver

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logsub"
)

// The log, which a driver implements.
type (
	// Log is appended to, and read in a safe order behind cursors that have leases.
	Log = log.Log
	// Entry is one message in a log: its Position, ID, Lane (the partition), Topic,
	// MessageID, Key, Headers, Payload and CreatedAt.
	Entry = log.Entry
	// Position is the position of a cursor; only the log can interpret it.
	Position = log.Position
	// Cursor identifies a group's cursor in a partition: its Consumer and Lane.
	Cursor = log.Cursor
	// Lease is the right to move a cursor, with its fencing token.
	Lease = log.Lease
)

// Errors of a log for a lease that another member holds, and for one that was superseded.
var (
	ErrLeaseHeld = log.ErrLeaseHeld
	ErrLeaseLost = log.ErrLeaseLost
)

// EachBacklog implements Log.Backlog for a log that is queried partition by partition.
func EachBacklog(c Cursor, lanes int, of func(c Cursor) (n int, oldest time.Time, err error)) (n int, oldest time.Time, err error) {
	return log.EachBacklog(c, lanes, of)
}

// The state that the instances share, which a driver implements as well.
type (
	// Directory knows the topics, and which members of a group are alive.
	Directory = logsub.Directory
	// Topic is a topic's name, its lanes and how long it keeps messages.
	Topic = logsub.Topic
	// Member is one subscription of an instance.
	Member = logsub.Member
	// Start describes the starts of a cursor without progress.
	Start = logsub.Start
	// Places finds positions to which a group can be moved. Optional for a [Log].
	Places = logsub.Places
	// Headers carries a message's metadata in an entry.
	Headers = logsub.Headers
)

// The types that a driver uses.
type (
	// Backend is the driver's part of a [Hub].
	Backend = logsub.Backend
	// Config of a [Hub]. The zero value works.
	Config = logsub.Config
	// Hub is the part of one process: it makes the publisher and the sources, and its Run does
	// their shared work.
	Hub = logsub.Hub
	// Publisher appends messages; of [Hub].Publisher.
	Publisher = logsub.Publisher
	// Source is a member of a group; of [Hub].Source.
	Source = logsub.Source
	// Spec describes a topic to be declared.
	Spec = logsub.Spec
	// Admin makes topics, and lists, moves and deletes groups, for the driver that embeds it.
	Admin = logsub.Admin
	// Driver is a bus.Driver on a log, for the driver that embeds it.
	Driver = logsub.Driver
	// Parts are the transport's parts of a [Driver].
	Parts = logsub.Parts
	// Bell notifies the other processes of changes, at most once a tick.
	Bell = logsub.Bell
	// Change is the content of such a notification.
	Change = logsub.Change
)

// ErrClosed is returned by calls after Close.
var ErrClosed = logsub.ErrClosed

// New makes a Hub. It sends nothing; call Run.
func New(b Backend, cfg Config) (*Hub, error) { return logsub.New(b, cfg) }

// NewDriver makes a Driver. It sends nothing to the server before the first use.
func NewDriver(p Parts) (*Driver, error) { return logsub.NewDriver(p) }

// NewAdmin makes the Admin of a driver. ready is called before each call, and translate maps the
// errors of the log to the driver's.
func NewAdmin(h *Hub, ready func(context.Context) error, translate func(error) error) Admin {
	return logsub.NewAdmin(h, ready, translate)
}

// NewBell returns a Bell that calls send at most once a tick.
func NewBell(tick time.Duration, send func(context.Context, Change) error) *Bell {
	return logsub.NewBell(tick, send)
}
