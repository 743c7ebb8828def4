package driver

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Lag tells how far a group is behind on a topic.
type Lag struct {
	Topic, Group string
	Messages     int       // not yet acknowledged; may be capped by the transport
	Oldest       time.Time // when the oldest of them was published; zero when none or unknown
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
