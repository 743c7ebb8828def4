package amqpbus

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

const (
	defaultPartitions = 3
	defaultPrefetch   = 512
	defaultHeartbeat  = 10 * time.Second
	defaultConnect    = 10 * time.Second
	defaultConfirm    = 30 * time.Second
	defaultRebalance  = 3 * time.Second

	// Types of queues.
	quorum, classic = "quorum", "classic"
)

// Config is the configuration of the scheme. The zero value works. A URL's parameter wins
// over the field of the same meaning.
type Config struct {
	// Prefix goes before the names of the exchange and of all queues: it separates two
	// environments on one vhost. None by default.
	Prefix string
	// Exchange is the durable topic exchange for all messages; "domain_events" by default.
	// It is created if it does not exist.
	Exchange string
	// Partitions is the number of queues of a group that is declared without a number; 3 by
	// default, 48 at most. Each queue is consumed by one instance at a time,
	// so Partitions also limits how many instances can share a group. Each costs a channel
	// per instance, and a Raft log if it is a quorum queue.
	Partitions int
	// QueueType is "quorum" (the default: replicated if the broker is a cluster) or "classic"
	// (on one node only).
	QueueType string
	// Prefetch is how many unacknowledged messages a queue sends to its consumer; 512 by
	// default. They are held in memory and are delivered again after a crash. Use the same
	// value in every instance of a group: the order of a quorum queue after two crashes in
	// a row depends on it.
	Prefetch int
	// QueueName names a group's queue, before ":0", ":1", … if the group has several. By
	// default the name is "topic:group", and "group" for the topic that is named like the exchange.
	QueueName func(topic, group string) string
	// Bindings lists the event types of queues, by group, for the topic that is named like
	// the exchange; all types by default.
	Bindings map[string][]string
	// TLS is used for amqps:// URLs; the system's certificates by default.
	TLS *tls.Config
	// Heartbeat is the interval of heartbeats; a dead connection is found within three. 10
	// s by default.
	Heartbeat time.Duration
	// ConnectTimeout bounds one attempt to connect, and how long a Publish keeps trying to
	// connect; 10 s by default.
	ConnectTimeout time.Duration
	// ConfirmTimeout bounds the wait for the broker's confirms; 30 s by default.
	ConfirmTimeout time.Duration
	// Rebalance is how often the instances of a group check whether each has its share of
	// the queues; 3 s by default. Each check costs one request to the broker per subscription.
	Rebalance time.Duration
	// Logger logs lost connections; slog.Default() by default.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Exchange = cmp.Or(c.Exchange, "domain_events")
	c.Partitions = cmp.Or(c.Partitions, defaultPartitions)
	c.QueueType = cmp.Or(c.QueueType, quorum)
	c.Prefetch = cmp.Or(c.Prefetch, defaultPrefetch)
	c.Heartbeat = cmp.Or(c.Heartbeat, defaultHeartbeat)
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, defaultConnect)
	c.ConfirmTimeout = cmp.Or(c.ConfirmTimeout, defaultConfirm)
	c.Rebalance = cmp.Or(c.Rebalance, defaultRebalance)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

// maxPrefetch is the most that quorum queues allow.
const maxPrefetch = 2000

func (c Config) validate() error {
	switch {
	case len(c.Prefix) > 64 || strings.HasPrefix(c.Prefix, "amq."):
		return fmt.Errorf("prefix is %.60q; give at most 64 bytes that do not begin with amq., which is the broker's own", c.Prefix)
	case len(c.Exchange) > 127 || strings.ContainsAny(c.Exchange, "*#"):
		return fmt.Errorf("exchange is %q; give a name of at most 127 bytes without * and #", c.Exchange)
	case strings.HasPrefix(c.Exchange, "amq."):
		return fmt.Errorf("exchange is %q; names that begin with amq. are the broker's own", c.Exchange)
	case c.Partitions < 0 || c.Partitions > slots:
		return fmt.Errorf("partitions is %d; give 1 to %d, or 0 for the default %d", c.Partitions, slots, defaultPartitions)
	case c.QueueType != "" && c.QueueType != quorum && c.QueueType != classic:
		return fmt.Errorf("queue_type is %q; give %s (replicated) or %s", c.QueueType, quorum, classic)
	case c.Prefetch < 0 || c.Prefetch > maxPrefetch:
		return fmt.Errorf("prefetch is %d; give 1 to %d, or 0 for the default %d", c.Prefetch, maxPrefetch, defaultPrefetch)
	case c.Heartbeat != 0 && (c.Heartbeat < time.Second || c.Heartbeat > time.Hour):
		return fmt.Errorf("heartbeat is %s; give 1s to 1h, or 0 for the default %s", c.Heartbeat, defaultHeartbeat)
	case c.ConnectTimeout < 0:
		return fmt.Errorf("connect_timeout is %s; give a positive duration, or 0 for the default %s", c.ConnectTimeout, defaultConnect)
	case c.ConfirmTimeout < 0:
		return fmt.Errorf("confirm_timeout is %s; give a positive duration, or 0 for the default %s", c.ConfirmTimeout, defaultConfirm)
	case c.Rebalance < 0:
		return fmt.Errorf("Rebalance is %s; give a positive duration, or 0 for the default %s", c.Rebalance, defaultRebalance)
	}
	for group, types := range c.Bindings {
		if len(types) == 0 {
			return fmt.Errorf("Bindings of %s is empty; name event types, or leave the group out for all", group)
		}
	}
	return nil
}
