// Package logdriver makes a transport of an append-only log: members of a group share a topic's
// partitions under leases, and move a cursor past acknowledged messages. The transports on SQL
// databases and streams of the library are built on it.
//
// It is for authors of drivers whose server keeps a log and compares a revision when it writes.
// Package kit documents the rules of compatibility. A driver implements a [Log] and a
// [Directory], and gets a [Driver]:
//
//	d, err := logdriver.NewDriver(logdriver.Parts{
//		Name:    "mybus",
//		Backend: logdriver.Backend{Log: log, Directory: dir, Append: append, Begin: begin},
//		Start:   connect, Ping: ping, Watch: watch, Wake: wake, Newest: newest, Close: close,
//	})
//
//	property                                                  proven by
//	a transport in a module of its own can build on it        TestModulesImportNothingInternal
//	order per key, also while members join and leave          TestHandOverKeepsOrder
//	no repeats without a crash, and few behind one            TestHandOverKeepsOrder, TestSpan
//	a holder that slept past its lease moves nothing          TestStalledHolder
//	a log and its leases keep their guarantees                TestSuite
package logdriver

import (
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

// Chunk returns how many of the values, which are not empty, go in one request: at most most, and
// beyond the first one at most as many as have the bytes together.
func Chunk[T any](values []T, most, bytes int, size func(T) int) int {
	return logsub.Chunk(values, most, bytes, size)
}

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
	// Backend is the server's log and state, as a [Driver] uses them.
	Backend = logsub.Backend
	// Config of a [Driver]. The zero value works.
	Config = logsub.Config
	// Hub is the part of one process, which a driver wakes when other processes have changed
	// something.
	Hub = logsub.Hub
	// Driver is a driver.Driver on a log.
	Driver = logsub.Driver
	// Parts are the transport's parts of a [Driver].
	Parts = logsub.Parts
	// Writes collects the writes of cursors for a server without transactions.
	Writes[W any] = logsub.Writes[W]
	// Lanes numbers partitions for a server that knows them by their names only.
	Lanes = logsub.Lanes
	// Partition is a partition of a topic; of [Lanes].
	Partition = logsub.Partition
	// Change is what other processes are told.
	Change = logsub.Change
)

// MaxPartitions is the most partitions of a topic.
const MaxPartitions = logsub.MaxPartitions

// NewDriver makes a Driver. It sends nothing to the server before the first use.
func NewDriver(p Parts) (*Driver, error) { return logsub.NewDriver(p) }
