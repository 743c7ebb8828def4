package bus

import (
	"cmp"
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
)

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
	// consumers of this package still publish dead letters, because only they know the reason.
	NativeDeadLetter bool
	// IndividualAcks: every acknowledgement is stored at once, also behind unacknowledged
	// messages, and not only the longest confirmed prefix.
	IndividualAcks bool
}

// Topic describes a topic for Declare. Zero fields mean the transport's default.
type Topic struct {
	Name        string
	Partitions  int           // ordered parts of the topic
	Replication int           // copies, where the transport is a cluster
	Retention   time.Duration // how long messages are kept
	// Groups that must exist before the first publish. Each receives everything published from
	// then on, even if it starts to consume later.
	Groups []string
}

// Driver is the interface of a transport behind [Bus]; a scheme opens it. Users hold a Bus: only
// authors of transports implement Driver. Package bustest checks an implementation.
type Driver interface {
	Capabilities() Capabilities

	// Publisher returns the shared publisher. It orders by event.Key of each
	// message. Publish returns when the messages are as durable as the
	// transport can make them.
	Publisher() message.Publisher

	// Source makes this process a member of a group on a topic. The source hands over messages
	// in order per key, at most window of them unsettled; they can be settled in any order. A
	// crash may redeliver settled messages behind an unsettled one; an orderly Close does not.
	// The values of ctx are passed to the handlers. Package watermillbus makes a Source of a
	// Watermill subscriber.
	Source(ctx context.Context, topic, group string, window int) (driver.Source, error)

	// Declare makes topics and groups. It is idempotent.
	Declare(ctx context.Context, topics ...Topic) error

	// Close closes the resources that the driver opened. Close the sources before.
	Close() error
}

// Scheme opens a Driver from a URL. It rejects unknown query parameters by name; [NewParams]
// does that.
type Scheme interface {
	// Name is the URL's scheme, e.g. "sqlite".
	Name() string
	// Open does not dial: a wrong URL is an error, an absent server is not. Setup on the server
	// is done at the first use; its errors are classified as infrastructure while the server is
	// absent.
	Open(ctx context.Context, u *url.URL) (Driver, error)
}

// Lag tells how far a group is behind on a topic.
type Lag struct {
	Topic, Group string
	Messages     int       // not yet acknowledged; may be capped by the transport
	Oldest       time.Time // when the oldest of them was published; zero when none or unknown
}

// compare orders by topic and group.
func (l Lag) compare(other Lag) int {
	return cmp.Or(strings.Compare(l.Topic, other.Topic), strings.Compare(l.Group, other.Group))
}

// Pinger is implemented by drivers that have a server, or no server that could be absent.
type Pinger interface {
	// Ping asks the server once whether it is there, and makes no topic.
	Ping(ctx context.Context) error
}

// Lagger is implemented by drivers that know how far their groups are behind.
type Lagger interface {
	Lag(ctx context.Context) ([]Lag, error)
}

// TopicFinder is implemented by drivers that know which topics exist. An operator's tool checks
// before it subscribes, because a subscription makes the topic.
type TopicFinder interface {
	// HasTopic reports whether a topic exists. It does not create the topic.
	HasTopic(ctx context.Context, name string) (bool, error)
	// Topics lists the topics by name. The error is errors.ErrUnsupported where the transport
	// can only check a given name.
	Topics(ctx context.Context) ([]string, error)
}

// Inspector is implemented by drivers that can show a topic's retained messages
// without consuming them, newest last, at most limit of the newest.
type Inspector interface {
	Browse(ctx context.Context, topic string, limit int) ([]*message.Message, error)
}

// Pender is implemented by drivers that can show the unacknowledged messages of a group without
// consuming them or taking the group away from others: at most limit of the oldest, in the order
// of delivery. For a group that does not exist, every message that it would get is pending.
type Pender interface {
	Pending(ctx context.Context, topic, group string, limit int) ([]*message.Message, error)
}

// HandlerWrapper is implemented by drivers whose messages need code around each run of a
// handler, such as a savepoint in the transaction that a message carries. A [Runner] wraps the
// handler and the Middleware of a [Consumer] in it.
type HandlerWrapper interface {
	WrapHandler(next message.HandlerFunc) message.HandlerFunc
}
