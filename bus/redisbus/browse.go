package redisbus

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"
)

// Browse implements driver.Inspector.
func (d *driver) Browse(ctx context.Context, name string, limit int) ([]*message.Message, error) {
	found, err := d.look(ctx, "browse", name, limit, func(stream string) ([]redis.XMessage, error) {
		newest, err := d.client.XRevRangeN(ctx, stream, "+", "-", int64(limit)).Result()
		slices.Reverse(newest)
		return newest, err
	})
	if err != nil {
		return nil, err
	}
	return messagesOf(found[max(0, len(found)-max(limit, 0)):]), nil
}

// Pending implements driver.Pender: it reads as the group would, without a lease.
func (d *driver) Pending(ctx context.Context, name, group string, limit int) ([]*message.Message, error) {
	found, err := d.look(ctx, "pending of "+group+" in", name, limit, func(stream string) ([]redis.XMessage, error) {
		from := "-"
		b, err := d.log.behind(ctx, stream, group)
		switch {
		case err != nil:
			return nil, err
		case b.group && b.oldest == "":
			return nil, nil
		case b.group:
			from = b.oldest
		}
		return d.client.XRangeN(ctx, stream, from, "+", int64(limit)).Result()
	})
	if err != nil {
		return nil, err
	}
	return messagesOf(found[:min(max(limit, 0), len(found))]), nil
}

// look collects the messages that read finds in each partition of an existing topic. The
// order within a partition stays; times interleave the partitions.
func (d *driver) look(ctx context.Context, what, name string, limit int, read func(stream string) ([]redis.XMessage, error)) ([]redis.XMessage, error) {
	topic, ok, err := d.Topic(ctx, name)
	if err != nil || !ok || limit <= 0 {
		return nil, err
	}
	var found []redis.XMessage
	for i := range topic.Partitions {
		part, err := read(d.keys.stream(name, i, topic.Partitions))
		if err != nil {
			return nil, d.Translate(fmt.Errorf("%s %s: %w", what, name, err))
		}
		found = append(found, part...)
	}
	slices.SortStableFunc(found, func(a, b redis.XMessage) int { return int(millis(a.ID) - millis(b.ID)) })
	return found, nil
}

// millis is the time in an id.
func millis(id string) int64 {
	ms, _, _ := strings.Cut(id, "-")
	n, _ := strconv.ParseInt(ms, 10, 64) //nolint:errcheck // Redis makes ids of numbers
	return n
}

func messagesOf(found []redis.XMessage) []*message.Message {
	out := make([]*message.Message, len(found))
	for i, m := range found {
		e := entryOf(m)
		out[i] = message.NewMessage(e.MessageID, e.Payload)
		if e.Headers == "" {
			continue
		}
		// The message is worth showing even without its metadata.
		if metadata, err := (headers{}).Decode(e.Headers); err == nil {
			out[i].Metadata = metadata
		}
	}
	return out
}
