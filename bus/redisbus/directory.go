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

// directory is logdriver.Directory in Redis.
type directory struct {
	client  redis.UniversalClient
	keys    keys
	scripts scripts
	lanes   *lanes
	logger  *slog.Logger
}

// stored is a topic in the hash of topics.
type stored struct {
	Partitions int           `json:"partitions"`
	Retention  time.Duration `json:"retention,omitempty"` // nanoseconds
}

func (d *directory) topicOf(name, text string) (logdriver.Topic, error) {
	var s stored
	if err := json.Unmarshal([]byte(text), &s); err != nil || s.Partitions < 1 || s.Partitions > logdriver.MaxPartitions {
		return logdriver.Topic{}, fmt.Errorf("field %q of %s is %.80q, which describes no topic", name, d.keys.topics(), text)
	}
	return d.lanes.Number(logdriver.Topic{Name: name, Partitions: s.Partitions, Retention: s.Retention}), nil
}

func (d *directory) put(ctx context.Context, t logdriver.Topic, replace bool) error {
	text, err := json.Marshal(stored{t.Partitions, t.Retention})
	if err != nil {
		return err
	}
	if replace {
		return d.client.HSet(ctx, d.keys.topics(), t.Name, text).Err()
	}
	return d.client.HSetNX(ctx, d.keys.topics(), t.Name, text).Err()
}

func (d *directory) Ensure(ctx context.Context, want logdriver.Topic) (logdriver.Topic, error) {
	if err := checkTopic(want.Name); err != nil {
		return logdriver.Topic{}, err
	}
	text, err := d.client.HGet(ctx, d.keys.topics(), want.Name).Result()
	if errors.Is(err, redis.Nil) {
		if err := d.put(ctx, want, false); err != nil {
			return logdriver.Topic{}, err
		}
		text, err = d.client.HGet(ctx, d.keys.topics(), want.Name).Result()
	}
	if err != nil {
		return logdriver.Topic{}, err
	}
	t, err := d.topicOf(want.Name, text)
	if err != nil || want.Retention == 0 || want.Retention == t.Retention {
		return t, err
	}
	t.Retention = want.Retention
	if err := d.put(ctx, t, true); err != nil {
		return logdriver.Topic{}, err
	}
	return d.lanes.Number(t), nil
}

// restore writes a topic again when Redis has lost it, for instance by FLUSHALL, while this
// process uses it.
func (d *directory) restore(ctx context.Context, name string) error {
	t, ok := d.lanes.Topic(name)
	if !ok {
		return nil
	}
	if err := d.put(ctx, t, false); err != nil {
		return err
	}
	text, err := d.client.HGet(ctx, d.keys.topics(), name).Result()
	if err != nil {
		return err
	}
	var s stored
	if err := json.Unmarshal([]byte(text), &s); err == nil && s.Partitions != t.Partitions {
		d.logger.Error("bus: Redis has lost the topic, and another process has made it with other partitions; restart this one",
			slog.String("topic", name), slog.Int("partitions", t.Partitions), slog.Int("theirs", s.Partitions))
	}
	return nil
}

func (d *directory) Topics(ctx context.Context) ([]logdriver.Topic, error) {
	all, err := d.client.HGetAll(ctx, d.keys.topics()).Result()
	if err != nil {
		return nil, err
	}
	out := make([]logdriver.Topic, 0, len(all))
	for name, text := range all {
		t, err := d.topicOf(name, text)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func (d *directory) Groups(ctx context.Context, t logdriver.Topic) ([]string, error) {
	results := make([]*redis.XInfoGroupsCmd, t.Partitions)
	// The error of a stream that does not exist yet means no groups.
	//nolint:errcheck // every command's error is looked at
	d.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range results {
			results[i] = p.XInfoGroups(ctx, d.keys.stream(t.Name, i, t.Partitions))
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

func (d *directory) Beat(ctx context.Context, ttl time.Duration, members []logdriver.Member) error {
	calls := make([]*call, len(members))
	for i, m := range members {
		calls[i] = &call{
			script: d.scripts.beat,
			keys:   []string{d.keys.members(m.Topic, m.Group)},
			args:   []any{m.ID, ttl.Milliseconds(), d.keys.channel(m.Topic)},
		}
	}
	return runAll(ctx, d.client, calls)
}

func (d *directory) Members(ctx context.Context, topic, group string) ([]string, error) {
	return d.scripts.members.Run(ctx, d.client, []string{d.keys.members(topic, group)}).StringSlice()
}

func (d *directory) Leave(ctx context.Context, m logdriver.Member) error {
	return d.scripts.leave.Run(ctx, d.client, []string{d.keys.members(m.Topic, m.Group)}, m.ID, d.keys.channel(m.Topic)).Err()
}

// startsKept is how long starts without progress of a partition are remembered, and
// messages done behind its cursor at its last release.
const startsKept = 7 * 24 * time.Hour

func (d *directory) starts(c logdriver.Cursor) string {
	return d.keys.starts(d.lanes.partition(c.Lane).stream, c.Consumer)
}

func (d *directory) Started(ctx context.Context, cursors []logdriver.Cursor) ([]logdriver.Start, error) {
	starts, messages := make([]*redis.IntCmd, len(cursors)), make([]*redis.SliceCmd, len(cursors))
	_, err := d.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, c := range cursors {
			starts[i] = p.HIncrBy(ctx, d.starts(c), "starts", 1)
			messages[i] = p.HMGet(ctx, d.starts(c), "message", "times", "done")
			p.Expire(ctx, d.starts(c), startsKept)
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

func (d *directory) Alone(ctx context.Context, c logdriver.Cursor, message string, times int) error {
	if message == "" {
		return d.client.HDel(ctx, d.starts(c), "message", "times").Err()
	}
	return d.client.HSet(ctx, d.starts(c), "message", message, "times", times).Err()
}

// Progress leaves no key if no other field is set.
func (d *directory) Progress(ctx context.Context, cursors []logdriver.Cursor) error {
	_, err := d.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, c := range cursors {
			p.HDel(ctx, d.starts(c), "starts", "done")
		}
		return nil
	})
	return err
}

func (d *directory) Stopped(ctx context.Context, c logdriver.Cursor, done string) error {
	if done == "" {
		return d.client.HDel(ctx, d.starts(c), "starts", "done").Err()
	}
	_, err := d.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.HDel(ctx, d.starts(c), "starts")
		p.HSet(ctx, d.starts(c), "done", done)
		p.Expire(ctx, d.starts(c), startsKept)
		return nil
	})
	return err
}
