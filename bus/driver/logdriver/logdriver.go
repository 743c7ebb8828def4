// Package logdriver makes a transport of an append-only log: members of a group share a
// topic's partitions under leases, and move a cursor over what is acknowledged. The
// transports on PostgreSQL, MySQL, SQLite, Redis and NATS stand on it.
//
// It is for authors of drivers whose server keeps a log and compares a revision when it
// writes; package kit says how far it is compatible. A driver gives a [Log] and a
// [Directory], and gets publishers and sources:
//
//	hub, err := logdriver.New(logdriver.Backend{Log: log, Directory: dir, Append: append, Begin: begin}, logdriver.Config{})
//	go hub.Run(ctx)
//	source, err := hub.Source(ctx, "payment.events", "event-payment-consumer", 1024)
//
//	property                                                  proven by
//	a transport that is a module of its own stands on it      package natsbus, TestModulesImportNothingInternal
//	order per key, also while members come and go             TestHandOverKeepsOrder
//	no repeats without a crash, and few behind one            TestHandOverKeepsOrder, TestSpan
//	a holder that slept through its lease moves nothing       TestStalledHolder
//	a log and its leases keep what they promise               TestSuite
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
	// Position is where a cursor stands; only the log can read it.
	Position = log.Position
	// Cursor names a group's place in a partition: its Consumer and Lane.
	Cursor = log.Cursor
	// Lease is the right to move a cursor, with its fencing token.
	Lease = log.Lease
)

// What a log returns when a lease is not to be had, and when it is no longer the newest.
var (
	ErrLeaseHeld = log.ErrLeaseHeld
	ErrLeaseLost = log.ErrLeaseLost
)

// EachBacklog is Log.Backlog for a log that is asked partition by partition.
func EachBacklog(c Cursor, lanes int, of func(c Cursor) (n int, oldest time.Time, err error)) (n int, oldest time.Time, err error) {
	return log.EachBacklog(c, lanes, of)
}

// What the instances must agree on, which a driver implements as well.
type (
	// Directory knows the topics, and which members of a group are alive.
	Directory = logsub.Directory
	// Topic is a topic's name, its lanes and how long it keeps messages.
	Topic = logsub.Topic
	// Member is one subscription of an instance.
	Member = logsub.Member
	// Start is what is known of the starts of a cursor without progress.
	Start = logsub.Start
	// Places finds where a group can be moved to. Optional for a [Log].
	Places = logsub.Places
	// Headers is how an entry carries a message's metadata.
	Headers = logsub.Headers
)

// What a driver gets.
type (
	// Backend is what a driver gives to a [Hub].
	Backend = logsub.Backend
	// Config of a [Hub]. The zero value works.
	Config = logsub.Config
	// Hub is one process's part: it makes the publisher and the sources, and does in Run
	// what they share.
	Hub = logsub.Hub
	// Publisher appends messages; of [Hub].Publisher.
	Publisher = logsub.Publisher
	// Source is a member of a group; of [Hub].Source.
	Source = logsub.Source
	// Spec is a topic that is declared.
	Spec = logsub.Spec
	// Admin lists, moves and deletes groups for the driver that embeds it.
	Admin = logsub.Admin
	// Bell tells the other processes what has changed, at most once a tick.
	Bell = logsub.Bell
	// Change is such news.
	Change = logsub.Change
)

// ErrClosed is returned by what is used after its Close.
var ErrClosed = logsub.ErrClosed

// New makes a Hub. It sends nothing; call Run.
func New(b Backend, cfg Config) (*Hub, error) { return logsub.New(b, cfg) }

// NewAdmin makes the Admin of a driver. ready is called before each of its calls, and
// translate turns the errors of the log into the driver's.
func NewAdmin(h *Hub, ready func(context.Context) error, translate func(error) error) Admin {
	return logsub.NewAdmin(h, ready, translate)
}

// NewBell returns a Bell that calls send at most once a tick.
func NewBell(tick time.Duration, send func(context.Context, Change) error) *Bell {
	return logsub.NewBell(tick, send)
}
