package rediswatermill

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// subscriber is Watermill's, for one subscription. It tells Redis that a delivered message
// is still in flight, and at the end returns unacknowledged ones.
type subscriber struct {
	message.Subscriber
	server   *server
	reads    *reads
	group    string
	consumer string

	end   context.CancelFunc
	done  chan struct{}
	topic string
}

func (s *server) subscriber(name string) (message.Subscriber, error) {
	consumer, reads := uuid.NewString(), &reads{UniversalClient: unclosed{s.client}}
	inner, err := redisstream.NewSubscriber(redisstream.SubscriberConfig{
		Client: reads, Unmarshaller: s.cfg.Marshaller, Consumer: consumer, ConsumerGroup: name, OldestId: "0",
		MaxIdleTime: s.cfg.MaxIdle, ClaimInterval: min(time.Second, s.cfg.MaxIdle),
		NackResendSleep: 100 * time.Millisecond, DisableIndefiniteInitialBlock: true,
	}, s.logger)
	if err != nil {
		return nil, err
	}
	return &subscriber{Subscriber: inner, server: s, reads: reads, group: name, consumer: consumer, done: make(chan struct{})}, nil
}

// Subscribe implements message.Subscriber.
func (s *subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if s.topic != "" {
		return nil, errors.New("rediswatermill: a subscriber has one subscription")
	}
	out, err := s.Subscriber.Subscribe(ctx, topic)
	if err != nil {
		return nil, err
	}
	s.topic = topic
	s.server.know(topic, s.group)
	keeping, end := context.WithCancel(context.WithoutCancel(ctx))
	s.end = end
	go s.keep(keeping)
	return out, nil
}

// keep tells Redis, until ctx ends, that delivered messages are in flight: other members
// take over messages that have been idle for long.
func (s *subscriber) keep(ctx context.Context) {
	defer close(s.done)
	tick := time.NewTicker(max(s.server.cfg.MaxIdle/3, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.idle(ctx, 0); err != nil && ctx.Err() == nil {
			s.server.log.Warn("rediswatermill: cannot say that a message is still in hand", slog.String("topic", s.topic), slog.String("group", s.group), slog.Any("error", err))
		}
	}
}

// idle sets the idle time of the messages in flight.
func (s *subscriber) idle(ctx context.Context, since time.Duration) error {
	pending, err := s.server.client.XPendingExt(ctx, &redis.XPendingExtArgs{
		Stream: s.topic, Group: s.group, Consumer: s.consumer, Start: "-", End: "+", Count: 100,
	}).Result()
	if err != nil || len(pending) == 0 {
		return err
	}
	// Messages acknowledged since are not pending, and so are not claimed.
	args := []any{"XCLAIM", s.topic, s.group, s.consumer, 0}
	for _, p := range pending {
		args = append(args, p.ID)
	}
	return s.server.client.Do(ctx, append(args, "IDLE", since.Milliseconds(), "JUSTID")...).Err()
}

// handBack bounds returning messages to a server that does not answer.
const handBack = 5 * time.Second

// Close implements message.Subscriber.
func (s *subscriber) Close() error {
	err := s.Subscriber.Close()
	if s.topic == "" {
		return err
	}
	s.reads.end() // Watermill's reader may still run, and would take a message
	s.end()
	<-s.done
	ctx, cancel := context.WithTimeout(context.Background(), handBack)
	defer cancel()
	if lost := s.idle(ctx, 24*time.Hour); lost != nil {
		s.server.log.Warn("rediswatermill: cannot give back what was in hand; another member takes it over later",
			slog.String("topic", s.topic), slog.String("group", s.group), slog.Any("error", lost))
	}
	return err
}

// reads is the client of a subscriber, whose reads can be ended.
type reads struct {
	redis.UniversalClient
	mu    sync.RWMutex // read-locked by reads
	ended bool
}

// XReadGroup reads the next message, unless reads were ended.
func (r *reads) XReadGroup(ctx context.Context, a *redis.XReadGroupArgs) *redis.XStreamSliceCmd {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.ended {
		cmd := redis.NewXStreamSliceCmd(ctx)
		cmd.SetErr(redis.Nil)
		return cmd
	}
	return r.UniversalClient.XReadGroup(ctx, a)
}

// XClaim takes messages over, unless reads were ended.
func (r *reads) XClaim(ctx context.Context, a *redis.XClaimArgs) *redis.XMessageSliceCmd {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.ended {
		return redis.NewXMessageSliceCmd(ctx) // none
	}
	return r.UniversalClient.XClaim(ctx, a)
}

// end waits for the current read, and makes later ones find nothing.
func (r *reads) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}
