package driver

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/sqltx"
)

// Record is one event to append to the outbox.
type Record struct {
	Topic   string
	Event   event.Event
	Message *message.Message // the encoded event; its UUID is the event's id
}

// Store holds the events of an outbox. A shard is a part of the outbox with its own lease and
// order; events of one key are always in one shard.
//
// There are two kinds of stores. A cursor store reads an append-only table and remembers its
// position: Settle uses Move, and deferred and parked events are in tables beside it. A status
// store keeps a state per row: Settle uses Published and Failures, and Move only for the
// position of the next read.
//
// All methods are safe for concurrent use. No method keeps a connection or a transaction after
// it returns. The errors of this package are sentinels; any other error means that the database
// did not answer, and the relay retries.
type Store interface {
	// Append writes the records inside tx, in one statement, in their order.
	Append(ctx context.Context, tx sqltx.Execer, records []Record) error

	// Shards returns the number of shards. It fails with ErrShards if the stored number
	// differs.
	Shards(ctx context.Context) (int, error)

	// Lease takes the shard for holder until ttl from now, or fails with ErrLeaseHeld or
	// ErrForeignDatabase. A holder that has the lease already gets it again.
	Lease(ctx context.Context, shard int, holder string, ttl time.Duration) (Lease, error)

	// Read returns events in their order. It is not fenced, and may read ahead of the settled
	// position. An empty batch means that there are no more events. After ErrSlow, a timeout or
	// the end of ctx, the relay asks for half as many. Read fails with ErrLeaseLost if the
	// answer comes from another server than the one that granted the lease: positions read
	// before are invalid there.
	Read(ctx context.Context, l Lease, q Query) (Batch, error)

	// Settle stores the results of a batch and extends the lease, all or nothing, or fails with
	// ErrLeaseLost. Settling the same results again must be harmless: after an error the relay
	// does not know whether they were stored.
	Settle(ctx context.Context, l Lease, s Settlement) error

	// Release ends the lease early. A lost lease is not an error.
	Release(ctx context.Context, l Lease) error
}

// Mark is a position in the order of a shard. Only the store that made it can read it; nil is
// the position at which the lease began.
type Mark any

// Lease is the right to publish a shard's events.
type Lease struct {
	Shard  int
	Holder string
	Token  int64 // grows with every change of holder
	// Aside holds the events that earlier holders deferred.
	Aside []Aside
	// State belongs to the store.
	State any
}

// Aside holds the deferred events of one key, so that other keys pass.
type Aside struct {
	Key   string
	Count int
	Wait  time.Duration // until the first of them may be retried; 0 when it is due
}

// Query asks for events of a shard.
type Query struct {
	// After is the position to read from: the Next of the last batch, nil at first.
	After Mark
	// Keys, when not empty, selects the deferred events of these keys, in their order, instead
	// of the events after the mark.
	Keys []string
	// Limit is the maximal number of events.
	Limit int
}

// Batch is the result of a read.
type Batch struct {
	Items []Item
	Next  Mark // the position to read from; it may have moved although there are no items
}

// Item is one waiting event.
type Item struct {
	ID        int64 // the row's id: unique, but not an order
	MessageID string
	Topic     string
	Key       string
	Headers   string // the message's metadata as a JSON object of strings, "" for none
	Payload   []byte
	CreatedAt time.Time // when it was appended, by the database's clock
	Mark      Mark      // the position behind it; nil for a deferred event

	// The stored state of failed attempts, by this relay or earlier ones.
	Attempts    int
	Retries     int           // failed retries that count, see RelayConfig.MaxRetries; 0 when the store does not keep it
	Age         time.Duration // how long the event failed while others were published
	Wait        time.Duration // the time until the next attempt, at the time of the read
	FailedSince time.Time     // the first failure; zero when there was none, or the store does not keep it
}

// State is the state of an item.
type State uint8

// The states of an item.
const (
	Waiting    State = iota // not finished: untried, or blocked
	Held                    // failed; it keeps its place, and the items behind it wait
	MovedAside              // deferred: failed, or behind a failed event of its key; other keys pass
	Parked                  // failed too often; it waits for an operator
	Published               // confirmed by the publisher
)

// Failure is an item that was not published, and its state.
type Failure struct {
	Item  *Item
	State State // Held, MovedAside or Parked

	Attempts int           // 0 for an event that only waits behind another
	Retries  int           // see [Item]
	Age      time.Duration // see [Item]
	Wait     time.Duration // until the next attempt
	Error    string
}

// Settlement holds the results of (a part of) a batch since the last settlement. The zero
// Settlement with a TTL only extends the lease.
type Settlement struct {
	// Published are the items confirmed since the last settlement.
	Published []*Item
	// Failures are the items that failed since the last settlement.
	Failures []Failure
	// Move is the position behind the longest prefix of finished items, nil when it has not
	// moved.
	Move Mark
	// TTL is how long the lease is valid from now.
	TTL time.Duration
}
