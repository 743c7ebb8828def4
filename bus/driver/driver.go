// Package driver is what a transport has to know to stand under package bus: it fetches
// messages and takes back what became of them. Order per key, concurrency, windows,
// batches, pauses, retries, dead letters and shutdown are the engine's, in bus.
//
//	source, err := transport.Source(ctx, "payment.events", "event-payment-consumer", 1024)
//	for {
//		deliveries, err := source.Fetch(ctx, 100) // waits for the first
//		for _, d := range deliveries {
//			handle(d.Message()) // many at a time, with order per key
//			d.Done()            // or d.Back(), to get it again
//		}
//	}
//	err = source.Close() // commits what is done, gives leases back
//
// The sketch of this interface had one method to settle many deliveries. A delivery
// settles itself here instead, without waiting: each transport collects what to commit
// anyway, at its own pace, and the engine settles one message at a time. How a source
// is assigned partitions, renews leases and loses them is its own business; the engine
// sees the end of a delivery's context. So is what a group has done of a partition: a
// queue (RabbitMQ, SQS) settles each message by itself and needs none of it, and those
// that keep one position share the Tracker and the Window of package kit.
//
// The sketch's sink is Watermill's Publisher, whose errors are a [PublishError].
package driver

import (
	"context"
	"errors"
)

// ErrEnded is the error of [Source.Fetch] when the transport has ended the subscription
// by itself, and it will not come back.
var ErrEnded = errors.New("driver: the transport has ended the subscription")

// ErrRevoked is the cause of a delivery's ended context: another member has the message,
// or will get it.
var ErrRevoked = errors.New("bus: the transport took the message back")

// Message is a message as it was published. Its metadata and payload must not be changed.
type Message struct {
	ID       string
	Metadata map[string]string
	Payload  []byte
}

// Delivery is a message in hand. Done and Back do not wait, may be called from any
// goroutine, and only the first of them counts.
type Delivery interface {
	Message() Message
	// Context ends, with the cause [ErrRevoked], when the transport takes the message
	// back, and not when its source is closed. Its values are for the handler.
	Context() context.Context
	// Done acknowledges the message.
	Done()
	// Back gives the message up. It is delivered again, here or elsewhere, before later
	// messages of its key.
	Back()
}

// Suspected is implemented by deliveries of a transport that counts, where it survives a
// crash, how often a partition was started without progress. After two such starts a
// message of the partition may be what kills the process.
type Suspected interface {
	// Alone reports whether nothing else of the consumer may be handled with the message.
	Alone() bool
	// Begin notes, where it survives a crash, that the handler of the message is about to
	// begin. It returns in how many processes that have died it was at work.
	Begin(ctx context.Context) (deaths int, err error)
	// End notes that the handler has ended.
	End(ctx context.Context) error
}

// Source is one topic for one group, while this process is a member of the group.
type Source interface {
	// Fetch waits for messages and returns at most max of them, in order per key. It
	// returns messages or an error: the cause of the end of ctx, or one that wraps
	// [ErrEnded]. A source waits for an absent server itself. The engine makes one
	// Fetch at a time.
	Fetch(ctx context.Context, max int) ([]Delivery, error)
	// Close commits what is done, also behind deliveries that are not, and leaves the
	// group. Deliveries that are not settled
	// belong to the group again; their contexts do not end. It is called once, after
	// the last Fetch has returned.
	Close() error
}
