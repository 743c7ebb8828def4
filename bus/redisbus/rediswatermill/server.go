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
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
)

// server creates topics and inspects them.
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
	_ busdriver.Lagger      = (*server)(nil)
	_ busdriver.TopicFinder = (*server)(nil)
	_ busdriver.Inspector   = (*server)(nil)
	_ busdriver.Pender      = (*server)(nil)
)

func (s *server) know(topic, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups[group{topic, name}] = struct{}{}
}

// declare creates the groups of a topic, and so its stream.
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

// Lag implements driver.Lagger. It counts up to 10,000 messages: those in flight, and then
// those that are not delivered.
func (s *server) Lag(ctx context.Context) ([]bus.Lag, error) {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.groups))
	s.mu.Unlock()
	var lags []bus.Lag
	for _, g := range all {
		delivered, behind, err := s.pending(ctx, g, lagLimit)
		if err != nil {
			return nil, s.failed("lag of "+g.topic, err)
		}
		lag := bus.Lag{Topic: g.topic, Group: g.name, Messages: len(delivered) + len(behind)}
		switch {
		case len(delivered) > 0:
			lag.Oldest = published(delivered[0])
		case len(behind) > 0:
			lag.Oldest = published(behind[0].ID)
		}
		lags = append(lags, lag)
	}
	return lags, nil
}

const lagLimit = 10_000

// pending returns a group's unacknowledged messages, at most limit: the ids of delivered
// messages, and the messages behind them. A message that is delivered at this moment is in
// one of the two, because both requests are one transaction.
func (s *server) pending(ctx context.Context, g group, limit int) (delivered []string, behind []redis.XMessage, err error) {
	var groups *redis.XInfoGroupsCmd
	var pending *redis.XPendingExtCmd
	//nolint:errcheck // every command's error is looked at
	s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		groups = p.XInfoGroups(ctx, g.topic)
		pending = p.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: g.topic, Group: g.name, Start: "-", End: "+", Count: int64(limit)})
		return nil
	})
	if err := groups.Err(); err != nil {
		if absent(err) {
			return nil, nil, nil
		}
		return nil, nil, err
	}
	after := "-"
	if i := slices.IndexFunc(groups.Val(), func(have redis.XInfoGroup) bool { return have.Name == g.name }); i >= 0 {
		if err := pending.Err(); err != nil {
			return nil, nil, err
		}
		after = "(" + groups.Val()[i].LastDeliveredID
	}
	for _, p := range pending.Val() {
		delivered = append(delivered, p.ID)
	}
	if room := limit - len(delivered); room > 0 {
		behind, err = s.client.XRangeN(ctx, g.topic, after, "+", int64(room)).Result()
	}
	return delivered, behind, err
}

// Pending implements driver.Pender.
func (s *server) Pending(ctx context.Context, topic, name string, limit int) ([]*message.Message, error) {
	if limit <= 0 {
		return nil, nil
	}
	delivered, behind, err := s.pending(ctx, group{topic, name}, limit)
	var all []redis.XMessage
	for _, id := range delivered {
		if err != nil {
			break
		}
		var found []redis.XMessage
		found, err = s.client.XRangeN(ctx, topic, id, id, 1).Result()
		all = append(all, found...)
	}
	if err != nil {
		return nil, s.failed("pending of "+topic, err)
	}
	return s.messages(append(all, behind...))
}

// Browse implements driver.Inspector.
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

// HasTopic implements driver.TopicFinder.
func (s *server) HasTopic(ctx context.Context, name string) (bool, error) {
	kind, err := s.client.Type(ctx, name).Result()
	if err != nil {
		return false, s.failed("topic "+name, err)
	}
	return kind == "stream", nil
}

// Topics implements driver.TopicFinder: streams of other programs look the same.
func (s *server) Topics(context.Context) ([]string, error) { return nil, errors.ErrUnsupported }

func (s *server) failed(what string, err error) error {
	return fault.MarkInfrastructure(fmt.Errorf("rediswatermill: %s: %w", what, err))
}

// absent reports whether the stream does not exist.
func absent(err error) bool { return strings.Contains(err.Error(), "no such key") }

// published is when Redis appended an entry.
func published(id string) time.Time {
	text, _, _ := strings.Cut(id, "-")
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
