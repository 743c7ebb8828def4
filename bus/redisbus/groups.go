package redisbus

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
)

// Place implements logdriver.Places.
func (s *store) Place(ctx context.Context, c logdriver.Cursor) (logdriver.Position, int64, error) {
	b, err := s.behind(ctx, s.partition(c.Lane).stream, c.Consumer)
	if err != nil || !b.group {
		return logdriver.Position{}, 0, err
	}
	at := number(b.place)
	if b.pending > 0 {
		at = number(b.oldest) - 1
	}
	return logdriver.Position{From: b.place, ID: -1}, at, nil
}

// Forget implements logdriver.Places.
func (s *store) Forget(ctx context.Context, topic logdriver.Topic, leases []logdriver.Lease) error {
	for _, l := range leases {
		stream := s.partition(l.Lane).stream
		there, err := s.scripts.forget.Run(ctx, s.client,
			[]string{stream, s.keys.lease(stream, l.Consumer)}, l.Holder, l.Token, l.Consumer).Bool()
		if err == nil && !there {
			err = logdriver.ErrLeaseLost
		}
		if err != nil {
			return err
		}
	}
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, l := range leases {
			p.Del(ctx, s.starts(l.Cursor))
		}
		p.Del(ctx, s.keys.members(topic.Name, leases[0].Consumer))
		return nil
	})
	return err
}
