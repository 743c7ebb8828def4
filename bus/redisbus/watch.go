package redisbus

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
)

// tick is the least time between two rounds of wake-ups by one process: a PUBLISH costs a
// server as much as an append.
const tick = time.Millisecond

// wake notifies the readers of the lanes, in one round trip for all of them. The scripts
// that change a group notify its members themselves.
func (s *store) wake(ctx context.Context, c logdriver.Change) error {
	if len(c.Lanes) == 0 {
		return nil
	}
	_, err := s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, lane := range c.Lanes {
			p := s.partition(lane)
			pipe.Publish(ctx, s.keys.channel(p.Topic), p.N)
		}
		return nil
	})
	return err
}

// follow subscribes to a topic's signals.
func (s *store) follow(ctx context.Context, _ *logdriver.Hub, topic string) error {
	if checkTopic(topic) != nil {
		return nil // it will be refused
	}
	// The client remembers the channel, and subscribes to it when it is back.
	if err := s.pubsub.Subscribe(ctx, s.keys.channel(topic)); err != nil {
		s.logger.Warn("bus: no wake-ups until Redis is back; polling meanwhile", slog.String("topic", topic), slog.Any("error", err))
	}
	return nil
}

// watch forwards the signals of new messages and of members until ctx ends. Pub/Sub is one
// connection for all topics of the process, also on a Cluster, where blocking reads would need
// one for every stream. Polling finds the messages of signals that a broken connection lost, so
// a lost signal costs only time.
func (s *store) watch(ctx context.Context, hub *logdriver.Hub) {
	defer context.AfterFunc(ctx, func() { s.pubsub.Close() })() //nolint:errcheck // its connection may be broken
	for heard := range s.pubsub.ChannelWithSubscriptions() {
		switch heard := heard.(type) {
		case *redis.Subscription:
			// Subscribed, perhaps again: signals may have been missed.
			hub.Wake()
			hub.WakeGroups()
		case *redis.Message:
			s.signal(hub, heard)
		}
	}
}

func (s *store) signal(hub *logdriver.Hub, heard *redis.Message) {
	if heard.Payload == "group" {
		hub.WakeGroups()
		return
	}
	if n, err := strconv.Atoi(heard.Payload); err == nil {
		s.lanes.Wake(hub, strings.TrimPrefix(heard.Channel, s.keys.channel("")), n)
	}
}
