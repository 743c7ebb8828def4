// Package driver is the interface between a transport and package bus. A transport fetches
// messages, and takes back their results. The engine, in bus, provides order per key,
// concurrency, windows, batches, pauses, retries, dead letters and shutdown.
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
// The first draft of this interface had one method to settle many deliveries. Here a delivery
// settles itself, without waiting: each transport collects commits anyway, at its own pace, and
// the engine settles one message at a time. The source alone handles the assignment of
// partitions and the renewal and loss of leases; the engine only sees the end of a delivery's
// context. The source also tracks the progress of a group in a partition: a queue (RabbitMQ,
// SQS) settles each message individually and needs none of it, and transports that keep one
// position share the Tracker and the Window of package kit.
//
// The draft's sink is Watermill's Publisher, whose errors are a [PublishError].
package driver

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"
)

// ErrEnded is the error of [Source.Fetch] when the transport has ended the subscription by
// itself and will not resume it.
var ErrEnded = errors.New("driver: the transport has ended the subscription")

// ErrRevoked is the cause of a delivery's ended context: another member has the message, or will
// get it.
var ErrRevoked = errors.New("bus: the transport took the message back")

// Message is a published message. Its metadata and payload must not be changed.
type Message struct {
	ID       string
	Metadata map[string]string
	Payload  []byte
}

// Watermill returns the message as Watermill's, which shares the metadata and the payload.
func (m Message) Watermill() *message.Message {
	out := message.NewMessage(m.ID, m.Payload)
	if m.Metadata != nil {
		out.Metadata = m.Metadata
	}
	return out
}

// Delivery is a fetched message. Done and Back do not wait, may be called from any goroutine,
// and only the first call counts.
type Delivery interface {
	Message() Message
	// Context ends, with the cause [ErrRevoked], when the transport takes the message
	// back, and not when its source is closed. Its values are for the handler.
	Context() context.Context
	// Done acknowledges the message.
	Done()
	// Back returns the message unacknowledged. It is redelivered, here or elsewhere, before
	// later messages of its key.
	Back()
}

// Suspected is implemented by deliveries of a transport that stores durably how often a
// partition was started without progress. After two such starts, a message of the partition may
// be the one that kills the process.
type Suspected interface {
	// Alone reports whether no other message of the consumer may be handled with this one.
	Alone() bool
	// Begin records durably that the handler of the message is about to begin. It returns the
	// number of processes that died while they handled the message.
	Begin(ctx context.Context) (deaths int, err error)
	// End records that the handler has ended.
	End(ctx context.Context) error
}

// Source is a topic for a group, while this process is a member of the group.
type Source interface {
	// Fetch waits for messages and returns at most max of them, in order per key. It returns
	// messages or an error: the cause of the end of ctx, or an error that wraps [ErrEnded]. The
	// source itself waits for an absent server. The engine makes one Fetch at a time.
	Fetch(ctx context.Context, max int) ([]Delivery, error)
	// Close commits the settled messages, also those behind unsettled ones, and leaves the
	// group. Unsettled deliveries belong to the group again; their contexts do not end. Close is
	// called once, after the last Fetch has returned.
	Close() error
}
