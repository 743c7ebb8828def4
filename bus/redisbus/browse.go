package redisbus

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
)

// newest is Newest of logdriver.Parts.
func (s *store) newest(ctx context.Context, lane, limit int) ([]logdriver.Entry, error) {
	found, err := s.client.XRevRangeN(ctx, s.partition(lane).stream, "+", "-", int64(limit)).Result()
	return entriesOf(found), err
}

// ahead is Ahead of logdriver.Parts: messages that a consumer of XREADGROUP has not
// acknowledged come before the group's place.
func (s *store) ahead(ctx context.Context, c logdriver.Cursor, limit int) ([]logdriver.Entry, error) {
	stream, from := s.partition(c.Lane).stream, "-"
	b, err := s.behind(ctx, stream, c.Consumer)
	switch {
	case err != nil, b.group && b.oldest == "":
		return nil, err
	case b.group:
		from = b.oldest
	}
	found, err := s.client.XRangeN(ctx, stream, from, "+", int64(limit)).Result()
	return entriesOf(found), err
}

// millis is the time in an id.
func millis(id string) int64 {
	ms, _, _ := strings.Cut(id, "-")
	n, _ := strconv.ParseInt(ms, 10, 64) //nolint:errcheck // Redis makes ids of numbers
	return n
}

func entriesOf(found []redis.XMessage) []logdriver.Entry {
	out := make([]logdriver.Entry, len(found))
	for i, m := range found {
		out[i] = entryOf(m)
	}
	return out
}
