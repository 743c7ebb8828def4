package redisbus

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
)

// tick is the least time between two rounds of wake-ups by one process: a PUBLISH costs a
// server as much as an append.
const tick = time.Millisecond

// wake notifies the readers of the lanes, in one round trip for all of them. The scripts
// that change a group notify its members themselves.
func (l *streamLog) wake(ctx context.Context, c logdriver.Change) error {
	if len(c.Lanes) == 0 {
		return nil
	}
	_, err := l.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, lane := range c.Lanes {
			p := l.registry.partition(lane)
			pipe.Publish(ctx, l.keys.channel(p.topic), p.number)
		}
		return nil
	})
	return err
}

// watcher is notified of new messages and of members by Pub/Sub: one connection for all
// topics of the process, also on a Cluster, where blocking reads would need one for every
// stream. Polling finds the messages of signals that a broken connection lost, so a lost
// signal costs only time.
type watcher struct {
	pubsub   *redis.PubSub
	registry *registry
	logger   *slog.Logger

	mu     sync.Mutex
	topics map[string]struct{}
}

func newWatcher(ctx context.Context, client redis.UniversalClient, registry *registry, logger *slog.Logger) *watcher {
	return &watcher{pubsub: client.Subscribe(ctx), registry: registry, logger: logger, topics: make(map[string]struct{})}
}

// follow subscribes to a topic's signals.
func (w *watcher) follow(ctx context.Context, topic string) {
	w.mu.Lock()
	_, known := w.topics[topic]
	w.topics[topic] = struct{}{}
	w.mu.Unlock()
	if known {
		return
	}
	// The client remembers the channel, and subscribes to it when it is back.
	if err := w.pubsub.Subscribe(ctx, w.registry.keys.channel(topic)); err != nil {
		w.logger.Warn("bus: no wake-ups until Redis is back; polling meanwhile", slog.String("topic", topic), slog.Any("error", err))
	}
}

// run forwards signals until ctx is done.
func (w *watcher) run(ctx context.Context, hub *logdriver.Hub) {
	defer context.AfterFunc(ctx, func() { w.pubsub.Close() })() //nolint:errcheck // a broken connection is closed, too
	for heard := range w.pubsub.ChannelWithSubscriptions() {
		switch heard := heard.(type) {
		case *redis.Subscription:
			// Subscribed, perhaps again: signals may have been missed.
			hub.Wake()
			hub.WakeGroups()
		case *redis.Message:
			w.signal(hub, heard)
		}
	}
}

func (w *watcher) signal(hub *logdriver.Hub, heard *redis.Message) {
	if heard.Payload == "group" {
		hub.WakeGroups()
		return
	}
	topic, ok := w.registry.topic(strings.TrimPrefix(heard.Channel, w.registry.keys.channel("")))
	n, err := strconv.Atoi(heard.Payload)
	if ok && err == nil && n >= 0 && n < topic.Partitions {
		hub.Wake(topic.FirstLane + n)
	}
}
