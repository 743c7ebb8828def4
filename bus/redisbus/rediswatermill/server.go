package rediswatermill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
)

// server makes topics and shows what is there.
type server struct {
	client redis.UniversalClient
	log    *slog.Logger
	logger watermill.LoggerAdapter
	cfg    Config

	mu     sync.Mutex
	groups map[group]struct{} // that were declared or used here
}

type group struct{ topic, name string }

var (
	_ bus.Lagger      = (*server)(nil)
	_ bus.TopicFinder = (*server)(nil)
	_ bus.Inspector   = (*server)(nil)
	_ bus.Pender      = (*server)(nil)
)

func (s *server) know(topic, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups[group{topic, name}] = struct{}{}
}

// declare makes the groups of a topic, and so its stream.
func (s *server) declare(ctx context.Context, t bus.Topic) error {
	for _, name := range t.Groups {
		err := s.client.XGroupCreateMkStream(ctx, t.Name, name, "0").Err()
		if err != nil && !redis.HasErrorPrefix(err, "BUSYGROUP") {
			return fmt.Errorf("group %s: %w", name, err)
		}
		s.know(t.Name, name)
	}
	return nil
}

// Lag implements bus.Lagger. Of what is in hand, and of what is not delivered, up to 10,000
// messages are counted.
func (s *server) Lag(ctx context.Context) ([]bus.Lag, error) {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.groups))
	s.mu.Unlock()
	var lags []bus.Lag
	for _, g := range all {
		ids, err := s.pending(ctx, g, lagLimit)
		if err != nil {
			return nil, s.failed("lag of "+g.topic, err)
		}
		lag := bus.Lag{Topic: g.topic, Group: g.name, Messages: len(ids)}
		if len(ids) > 0 {
			lag.Oldest = published(ids[0].ID)
		}
		lags = append(lags, lag)
	}
	return lags, nil
}

const lagLimit = 10_000

// pending returns what a group has not acknowledged, the oldest first, at most limit: what
// was delivered, and what comes behind that.
func (s *server) pending(ctx context.Context, g group, limit int) ([]redis.XMessage, error) {
	groups, err := s.client.XInfoGroups(ctx, g.topic).Result()
	if err != nil {
		if absent(err) {
			return nil, nil
		}
		return nil, err
	}
	var all []redis.XMessage
	after := "-"
	if i := slices.IndexFunc(groups, func(have redis.XInfoGroup) bool { return have.Name == g.name }); i >= 0 {
		after = "(" + groups[i].LastDeliveredID
		delivered, err := s.client.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: g.topic, Group: g.name, Start: "-", End: "+", Count: int64(limit)}).Result()
		if err != nil {
			return nil, err
		}
		for _, p := range delivered {
			found, err := s.client.XRangeN(ctx, g.topic, p.ID, p.ID, 1).Result()
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	if len(all) < limit {
		more, err := s.client.XRangeN(ctx, g.topic, after, "+", int64(limit-len(all))).Result()
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// Pending implements bus.Pender.
func (s *server) Pending(ctx context.Context, topic, name string, limit int) ([]*message.Message, error) {
	if limit <= 0 {
		return nil, nil
	}
	found, err := s.pending(ctx, group{topic, name}, limit)
	if err != nil {
		return nil, s.failed("pending of "+topic, err)
	}
	return s.messages(found)
}

// Browse implements bus.Inspector.
func (s *server) Browse(ctx context.Context, topic string, limit int) ([]*message.Message, error) {
	if limit <= 0 {
		return nil, nil
	}
	found, err := s.client.XRevRangeN(ctx, topic, "+", "-", int64(limit)).Result()
	if err != nil {
		return nil, s.failed("browse "+topic, err)
	}
	slices.Reverse(found)
	return s.messages(found)
}

func (s *server) messages(found []redis.XMessage) ([]*message.Message, error) {
	var all []*message.Message
	for _, x := range found {
		m, err := s.cfg.Marshaller.Unmarshal(x.Values)
		if err != nil {
			return nil, fmt.Errorf("rediswatermill: entry %s: %w", x.ID, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// HasTopic implements bus.TopicFinder.
func (s *server) HasTopic(ctx context.Context, name string) (bool, error) {
	kind, err := s.client.Type(ctx, name).Result()
	if err != nil {
		return false, s.failed("topic "+name, err)
	}
	return kind == "stream", nil
}

// Topics implements bus.TopicFinder: streams of other programs look the same.
func (s *server) Topics(context.Context) ([]string, error) { return nil, errors.ErrUnsupported }

func (s *server) failed(what string, err error) error {
	return fault.MarkInfrastructure(fmt.Errorf("rediswatermill: %s: %w", what, err))
}

// absent reports whether there is no such stream.
func absent(err error) bool { return strings.Contains(err.Error(), "no such key") }

// published is when Redis has taken an entry.
func published(id string) time.Time {
	text, _, _ := strings.Cut(id, "-")
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
