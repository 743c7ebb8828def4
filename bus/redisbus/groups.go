package redisbus

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
)

// Place implements logdriver.Places.
func (d *directory) Place(ctx context.Context, c logdriver.Cursor) (logdriver.Position, int64, error) {
	b, err := behind(ctx, d.client, d.scripts, d.lanes.partition(c.Lane).stream, c.Consumer)
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
func (d *directory) Forget(ctx context.Context, topic logdriver.Topic, leases []logdriver.Lease) error {
	for _, l := range leases {
		stream := d.lanes.partition(l.Lane).stream
		there, err := d.scripts.forget.Run(ctx, d.client,
			[]string{stream, d.keys.lease(stream, l.Consumer)}, l.Holder, l.Token, l.Consumer).Bool()
		if err == nil && !there {
			err = logdriver.ErrLeaseLost
		}
		if err != nil {
			return err
		}
	}
	_, err := d.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, l := range leases {
			p.Del(ctx, d.starts(l.Cursor))
		}
		p.Del(ctx, d.keys.members(topic.Name, leases[0].Consumer))
		return nil
	})
	return err
}
