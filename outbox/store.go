package outbox

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/sqltx"
)

// Record is one event on its way into the outbox.
type Record struct {
	Topic   string
	Event   event.Event
	Message *message.Message // the encoded event; its UUID is the event's id
}

// Store is where events wait. A shard is a part of the outbox with a lease and
// an order of its own; events of one key are always in one shard.
//
// Two kinds fit. A cursor store reads an append-only table and remembers how
// far it came: Settle uses Move, and what moved aside or was parked is kept in
// tables beside it. A status store keeps a state per row: Settle uses Published
// and Failures, and Move only to know where reading goes on.
//
// All methods are safe for concurrent use. None keeps a connection or a
// transaction after it returned. The errors of this package are sentinels; any
// other error means that the database could not be asked, and the relay tries
// again.
type Store interface {
	// Append writes the records inside tx, in one statement, in their order.
	Append(ctx context.Context, tx sqltx.Execer, records []Record) error

	// Shards returns the number of shards, after it has made sure that it is the
	// stored one; else it fails with ErrShards.
	Shards(ctx context.Context) (int, error)

	// Lease takes the shard for holder until ttl from now, or fails with
	// ErrLeaseHeld or ErrForeignDatabase. A holder that has the lease gets it anew.
	Lease(ctx context.Context, shard int, holder string, ttl time.Duration) (Lease, error)

	// Read returns events in their order. It is not fenced, and reading ahead of
	// what is settled is allowed. An empty batch means that nothing more is there.
	// After ErrSlow, a timeout or the end of ctx the relay asks for half as much. It
	// fails with ErrLeaseLost when the answer comes from another server than the one
	// on which the lease was taken, so that what was read before means nothing there.
	Read(ctx context.Context, l Lease, q Query) (Batch, error)

	// Settle writes down what became of a batch and extends the lease, all or
	// nothing, or fails with ErrLeaseLost. Settling the same thing again must be
	// harmless: after an error the relay does not know whether it was kept.
	Settle(ctx context.Context, l Lease, s Settlement) error

	// Release gives the lease up early. A lost lease is no error.
	Release(ctx context.Context, l Lease) error
}

// Mark is a place in the order of a shard. Only the store that made it can read
// it; nil is where the lease began.
type Mark any

// Lease is the right to publish a shard's events.
type Lease struct {
	Shard  int
	Holder string
	Token  int64 // grows with every change of holder
	// Aside is what earlier holders moved aside.
	Aside []Aside
	// State belongs to the store.
	State any
}

// Aside is the events of one key that stand aside, so that others can pass.
type Aside struct {
	Key   string
	Count int
	Wait  time.Duration // until the first of them may be tried again; 0 when it is due
}

// Query asks for events of a shard.
type Query struct {
	// After is where to read on: the Next of the last batch, nil at first.
	After Mark
	// Keys, when not empty, asks for the events of these keys that stand aside,
	// in their order, instead of those after the mark.
	Keys []string
	// Limit is how many events at most.
	Limit int
}

// Batch is what was read.
type Batch struct {
	Items []Item
	Next  Mark // where to read on; it may have moved although there are no items
}

// Item is one event that waits.
type Item struct {
	ID        int64 // the row's id: unique, and no order
	MessageID string
	Topic     string
	Key       string
	Headers   string // the message's metadata as a JSON object of strings, "" for none
	Payload   []byte
	CreatedAt time.Time // when it was appended, by the database's clock
	Mark      Mark      // the place behind it; nil for what stands aside

	// What is written down of failed attempts, by this relay or earlier ones.
	Attempts    int
	Retries     int           // failed retries that count, see RelayConfig.MaxRetries; 0 when the store does not keep it
	Age         time.Duration // how long it failed while other events got through
	Wait        time.Duration // when it was read: how long until the next attempt
	FailedSince time.Time     // when it failed first; zero when it has not, or the store does not say
}

// State is what became of an item.
type State uint8

// The states of an item.
const (
	Waiting    State = iota // not finished: untried, or blocked
	Held                    // failed; it keeps its place, and what is behind it waits
	MovedAside              // failed, or behind a failed event of its key; it lost its place, others pass
	Parked                  // given up; it waits for an operator
	Published               // confirmed by the publisher
)

// Failure is an item that was not published, and how it fared.
type Failure struct {
	Item  *Item
	State State // Held, MovedAside or Parked

	Attempts int           // 0 for an event that only waits behind another
	Retries  int           // see [Item]
	Age      time.Duration // see [Item]
	Wait     time.Duration // until the next attempt
	Error    string
}

// Settlement is what became of (a part of) a batch since it was last settled.
// The zero Settlement with a TTL only extends the lease.
type Settlement struct {
	// Published are the items confirmed since the last settlement.
	Published []*Item
	// Failures are the items that failed since the last settlement.
	Failures []Failure
	// Move is the place behind the longest prefix of finished items, nil when it
	// has not moved.
	Move Mark
	// TTL is how long the lease is valid from now.
	TTL time.Duration
}
