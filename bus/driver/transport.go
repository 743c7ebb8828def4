package driver

import (
	"context"
	"net/url"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Driver is a transport, as a [Scheme] opens it. Users hold a bus.Bus in front of it. Package
// bustest checks an implementation.
type Driver interface {
	Capabilities() Capabilities

	// Publisher returns the shared publisher. It orders by event.Key of each
	// message. Publish returns when the messages are as durable as the
	// transport can make them.
	Publisher() message.Publisher

	// Source makes this process a member of a group on a topic. The source hands over messages
	// in order per key, at most window of them unsettled; they can be settled in any order. A
	// crash may redeliver settled messages behind an unsettled one; an orderly Close does not.
	// The end of ctx ends the opening, and not an opened source. The values of ctx are passed to
	// the handlers. Package watermillbus makes a Driver of any
	// publisher and subscriber of Watermill.
	Source(ctx context.Context, topic, group string, window int) (Source, error)

	// Declare makes topics and groups. It is idempotent.
	Declare(ctx context.Context, topics ...Topic) error

	// Close closes the resources that the driver opened. Close the sources before.
	Close() error
}

// Scheme opens a Driver from a URL. It rejects unknown query parameters by name;
// [NewParams] does that.
type Scheme interface {
	// Names are the schemes of its URLs, e.g. "sqlite", or "redis" and "rediss".
	Names() []string
	// Open does not dial: a wrong URL is an error, an absent server is not. Setup on the server
	// is done at the first use; its errors are classified as infrastructure while the server is
	// absent.
	Open(ctx context.Context, u *url.URL) (Driver, error)
}

// Capabilities lists the abilities of a transport. A program that needs one checks it once,
// where it opens the bus, instead of failing in production.
type Capabilities struct {
	// Durable: a published message outlives the process that published it.
	Durable bool
	// OrderedPerKey: messages of one key arrive in the order they were published, also when
	// several instances share a group.
	OrderedPerKey bool
	// ConsumerGroups: several groups each get every message of a topic.
	ConsumerGroups bool
	// Replay: a topic keeps its messages for later groups. A new group starts at the earliest
	// retained message, and a group's oldest message can be read. Queues have no replay: a group
	// gets the messages published after it was declared, or after its first subscriber started.
	Replay bool
	// Broadcast: one publish reaches every group that exists, also groups that another process
	// declared.
	Broadcast bool
	// DelayedRedelivery: the transport itself can redeliver after a delay.
	// Where it cannot, the dispatcher waits in the process.
	DelayedRedelivery bool
	// SerialGroups: a group handles one message at a time over all its instances and keys. That
	// costs parallelism, and allows the offset to be part of the handler's own transaction.
	SerialGroups bool
	// OneAtATime: a member of a group has one unacknowledged message per partition, or one per
	// queue, or one per stream without partitions. The keys of a partition wait for each other,
	// and a batch holds one message of each partition.
	OneAtATime bool
	// LocksKeys: a few unacknowledged messages of a key (ten on SQS) block all later messages of
	// the key, even if the window is larger.
	LocksKeys bool
	// NativeDeadLetter: the transport itself moves failed messages to a dead letter queue. The
	// consumers of package bus still publish dead letters, because only they know the reason.
	NativeDeadLetter bool
	// IndividualAcks: every acknowledgement is stored at once, also behind unacknowledged
	// messages, and not only the longest confirmed prefix.
	IndividualAcks bool
}

// Topic describes a topic for bus.Declare. Zero fields mean the transport's default.
type Topic struct {
	Name        string
	Partitions  int           // ordered parts of the topic
	Replication int           // copies, where the transport is a cluster
	Retention   time.Duration // how long messages are kept
	// Groups that must exist before the first publish. Each receives everything published from
	// then on, even if it starts to consume later.
	Groups []string
}
