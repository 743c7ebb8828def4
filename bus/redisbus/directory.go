package redisbus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
)

// stored is a topic in the hash of topics.
type stored struct {
	Partitions int           `json:"partitions"`
	Retention  time.Duration `json:"retention,omitempty"` // nanoseconds
}

func (s *store) topicOf(name, text string) (logdriver.Topic, error) {
	var t stored
	if err := json.Unmarshal([]byte(text), &t); err != nil || t.Partitions < 1 || t.Partitions > logdriver.MaxPartitions {
		return logdriver.Topic{}, fmt.Errorf("field %q of %s is %.80q, which describes no topic", name, s.keys.topics(), text)
	}
	return s.lanes.Number(logdriver.Topic{Name: name, Partitions: t.Partitions, Retention: t.Retention}), nil
}

func (s *store) putTopic(ctx context.Context, t logdriver.Topic, replace bool) error {
	text, err := json.Marshal(stored{t.Partitions, t.Retention})
	if err != nil {
		return err
	}
	if replace {
		return s.client.HSet(ctx, s.keys.topics(), t.Name, text).Err()
	}
	return s.client.HSetNX(ctx, s.keys.topics(), t.Name, text).Err()
}

func (s *store) Ensure(ctx context.Context, want logdriver.Topic) (logdriver.Topic, error) {
	if err := checkTopic(want.Name); err != nil {
		return logdriver.Topic{}, err
	}
	text, err := s.client.HGet(ctx, s.keys.topics(), want.Name).Result()
	if errors.Is(err, redis.Nil) {
		if err := s.putTopic(ctx, want, false); err != nil {
			return logdriver.Topic{}, err
		}
		text, err = s.client.HGet(ctx, s.keys.topics(), want.Name).Result()
	}
	if err != nil {
		return logdriver.Topic{}, err
	}
	t, err := s.topicOf(want.Name, text)
	if err != nil || want.Retention == 0 || want.Retention == t.Retention {
		return t, err
	}
	t.Retention = want.Retention
	if err := s.putTopic(ctx, t, true); err != nil {
		return logdriver.Topic{}, err
	}
	return s.lanes.Number(t), nil
}

// restore writes a topic again when Redis has lost it, for instance by FLUSHALL, while this
// process uses it.
func (s *store) restore(ctx context.Context, name string) error {
	t, ok := s.lanes.Topic(name)
	if !ok {
		return nil
	}
	if err := s.putTopic(ctx, t, false); err != nil {
		return err
	}
	text, err := s.client.HGet(ctx, s.keys.topics(), name).Result()
	if err != nil {
		return err
	}
	var theirs stored
	if err := json.Unmarshal([]byte(text), &theirs); err == nil && theirs.Partitions != t.Partitions {
		s.logger.Error("bus: Redis has lost the topic, and another process has made it with other partitions; restart this one",
			slog.String("topic", name), slog.Int("partitions", t.Partitions), slog.Int("theirs", theirs.Partitions))
	}
	return nil
}

func (s *store) Topics(ctx context.Context) ([]logdriver.Topic, error) {
	all, err := s.client.HGetAll(ctx, s.keys.topics()).Result()
	if err != nil {
		return nil, err
	}
	out := make([]logdriver.Topic, 0, len(all))
	for name, text := range all {
		t, err := s.topicOf(name, text)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func (s *store) Groups(ctx context.Context, t logdriver.Topic) ([]string, error) {
	results := make([]*redis.XInfoGroupsCmd, t.Partitions)
	// The error of a stream that does not exist yet means no groups.
	//nolint:errcheck // every command's error is looked at
	s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range results {
			results[i] = p.XInfoGroups(ctx, s.keys.stream(t.Name, i, t.Partitions))
		}
		return nil
	})
	on := make(map[string]int)
	for _, r := range results {
		groups, err := r.Result()
		if err != nil && !strings.Contains(err.Error(), "no such key") {
			return nil, err
		}
		for _, g := range groups {
			on[g.Name]++
		}
	}
	return t.OnEvery(on), nil
}

func (s *store) Beat(ctx context.Context, ttl time.Duration, members []logdriver.Member) error {
	calls := make([]*call, len(members))
	for i, m := range members {
		calls[i] = &call{
			script: s.scripts.beat,
			keys:   []string{s.keys.members(m.Topic, m.Group)},
			args:   []any{m.ID, ttl.Milliseconds(), s.keys.channel(m.Topic)},
		}
	}
	return runAll(ctx, s.client, calls)
}

func (s *store) Members(ctx context.Context, topic, group string) ([]string, error) {
	return s.scripts.members.Run(ctx, s.client, []string{s.keys.members(topic, group)}).StringSlice()
}

func (s *store) Leave(ctx context.Context, m logdriver.Member) error {
	return s.scripts.leave.Run(ctx, s.client, []string{s.keys.members(m.Topic, m.Group)}, m.ID, s.keys.channel(m.Topic)).Err()
}

// startsKept is how long starts without progress of a partition are remembered, and
// messages done behind its cursor at its last release.
const startsKept = 7 * 24 * time.Hour

func (s *store) starts(c logdriver.Cursor) string {
	return s.keys.starts(s.partition(c.Lane).stream, c.Consumer)
}

func (s *store) Started(ctx context.Context, cursors []logdriver.Cursor) ([]logdriver.Start, error) {
	starts, messages := make([]*redis.IntCmd, len(cursors)), make([]*redis.SliceCmd, len(cursors))
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, c := range cursors {
			starts[i] = p.HIncrBy(ctx, s.starts(c), "starts", 1)
			messages[i] = p.HMGet(ctx, s.starts(c), "message", "times", "done")
			p.Expire(ctx, s.starts(c), startsKept)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := make([]logdriver.Start, len(cursors))
	for i := range cursors {
		var known struct {
			Message string `redis:"message"`
			Times   int    `redis:"times"`
			Done    string `redis:"done"`
		}
		if err := messages[i].Scan(&known); err != nil {
			return nil, err
		}
		all[i] = logdriver.Start{Starts: int(starts[i].Val()), Message: known.Message, Times: known.Times, Done: known.Done}
	}
	return all, nil
}

func (s *store) Alone(ctx context.Context, c logdriver.Cursor, message string, times int) error {
	if message == "" {
		return s.client.HDel(ctx, s.starts(c), "message", "times").Err()
	}
	return s.client.HSet(ctx, s.starts(c), "message", message, "times", times).Err()
}

// Progress leaves no key if no other field is set.
func (s *store) Progress(ctx context.Context, cursors []logdriver.Cursor) error {
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, c := range cursors {
			p.HDel(ctx, s.starts(c), "starts", "done")
		}
		return nil
	})
	return err
}

func (s *store) Stopped(ctx context.Context, c logdriver.Cursor, done string) error {
	if done == "" {
		return s.client.HDel(ctx, s.starts(c), "starts", "done").Err()
	}
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.HDel(ctx, s.starts(c), "starts")
		p.HSet(ctx, s.starts(c), "done", done)
		p.Expire(ctx, s.starts(c), startsKept)
		return nil
	})
	return err
}
