package bus

import (
	"context"
	"net/url"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
)

// Capabilities says what a transport can do. A program that needs one asks for
// it once, where it opens the bus, instead of finding out in production.
type Capabilities struct {
	// Durable: a published message outlives the process that published it.
	Durable bool
	// OrderedPerKey: messages of one key arrive in the order they were
	// published, also when several instances share a group.
	OrderedPerKey bool
	// ConsumerGroups: several groups each get every message of a topic.
	ConsumerGroups bool
	// Replay: a topic keeps its messages for groups that come later: a new group
	// starts at the earliest retained message, and a group's oldest message can
	// be looked at. Queues cannot: a group gets what is published after it was
	// declared, or after its first subscriber came.
	Replay bool
	// Broadcast: a group that exists receives a message even when it declared
	// itself in another process: one publish reaches all of them.
	Broadcast bool
	// DelayedRedelivery: the transport itself can redeliver after a delay.
	// Where it cannot, the dispatcher waits in the process.
	DelayedRedelivery bool
	// SerialGroups: a group handles one message at a time over all its
	// instances, however many keys there are. That costs parallelism and gives
	// the offset a place in the handler's own transaction.
	SerialGroups bool
	// OneAtATime: a member of a group has one unacknowledged message of each partition;
	// of a queue, or a stream without partitions, one. The keys of a partition wait for
	// each other, and a batch holds one message of each partition.
	OneAtATime bool
	// LocksKeys: a few unacknowledged messages of a key (ten on SQS) keep all
	// later ones of it away, however large a window is.
	LocksKeys bool
	// NativeDeadLetter: the transport moves messages aside by itself. The
	// consumers of this package publish dead letters themselves all the same,
	// because only they know why.
	NativeDeadLetter bool
	// IndividualAcks: every acknowledgement is remembered at once, also behind messages
	// that are not acknowledged, and not only the longest confirmed prefix.
	IndividualAcks bool
}

// Topic is what Declare makes, where the transport has to make anything. Zero
// fields mean the transport's default.
type Topic struct {
	Name        string
	Partitions  int           // parallel lanes of keys
	Replication int           // copies, where the transport is a cluster
	Retention   time.Duration // how long messages are kept
	// Groups that must exist before the first publish: each receives everything
	// published from then on, whenever it starts to consume.
	Groups []string
}

// Driver is a transport behind [Bus]: what a scheme opens. Users hold a Bus;
// only whoever writes a transport meets this interface. The bustest package
// checks an implementation.
type Driver interface {
	Capabilities() Capabilities

	// Publisher returns the shared publisher. It orders by event.Key of each
	// message. Publish returns when the messages are as durable as the
	// transport can make them.
	Publisher() message.Publisher

	// Source makes this process a member of a group on a topic. It hands over messages
	// in order per key, at most window of them unsettled, settled in any order. A crash
	// may repeat what is done behind a message that is not, an orderly Close does not. The
	// values of ctx go to the handlers. Package watermillbus makes one of a Watermill
	// subscriber.
	Source(ctx context.Context, topic, group string, window int) (driver.Source, error)

	// Declare makes topics and groups. It is idempotent.
	Declare(ctx context.Context, topics ...Topic) error

	// Close closes what the driver opened. Sources should be closed before.
	Close() error
}

// Scheme opens a Driver from a URL. It rejects query parameters it does not
// know by name; [NewParams] does that.
type Scheme interface {
	// Name is the URL's scheme, e.g. "sqlite".
	Name() string
	// Open does not dial: what is wrong with the URL is an error, and a server that
	// is absent is not. What has to be done on the server is done at the first use;
	// its errors are classified as infrastructure while the server is absent.
	Open(ctx context.Context, u *url.URL) (Driver, error)
}

// Lag is how far a group is behind on a topic.
type Lag struct {
	Topic, Group string
	Messages     int       // not yet acknowledged; may be capped by the transport
	Oldest       time.Time // when the oldest of them was published; zero when none or unknown
}

// Pinger is implemented by drivers that have a server, or nothing that can be absent.
type Pinger interface {
	// Ping asks the server once whether it is there, and makes no topic.
	Ping(ctx context.Context) error
}

// Lagger is implemented by drivers that know how far their groups are behind.
type Lagger interface {
	Lag(ctx context.Context) ([]Lag, error)
}

// TopicFinder is implemented by drivers that know which topics exist. An operator's
// tool asks before it subscribes, because a subscription makes the topic.
type TopicFinder interface {
	// HasTopic reports whether a topic exists. It makes nothing.
	HasTopic(ctx context.Context, name string) (bool, error)
	// Topics lists the topics by name; the error is errors.ErrUnsupported where the
	// transport only knows a topic that it is asked for.
	Topics(ctx context.Context) ([]string, error)
}

// Inspector is implemented by drivers that can show a topic's retained messages
// without consuming them, newest last, at most limit of the newest.
type Inspector interface {
	Browse(ctx context.Context, topic string, limit int) ([]*message.Message, error)
}

// Pender is implemented by drivers that can show what a group has not
// acknowledged yet without consuming it or taking the group away from others:
// in the order the group would get it, at most limit of the oldest. A group that
// does not exist has everything pending that it would get.
type Pender interface {
	Pending(ctx context.Context, topic, group string, limit int) ([]*message.Message, error)
}

// HandlerWrapper is implemented by drivers whose messages come with something
// that each run of a handler needs around it, such as a savepoint in the
// transaction that a message carries. A [Runner] puts it around the handler and
// the Middleware of a [Consumer].
type HandlerWrapper interface {
	WrapHandler(next message.HandlerFunc) message.HandlerFunc
}
