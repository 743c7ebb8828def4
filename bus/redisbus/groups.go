package redisbus

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logsub"
)

// Groups implements bus.GroupAdmin.
func (d *driver) Groups(ctx context.Context, topics ...string) ([]bus.Group, error) {
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
	all, err := d.hub.Groups(ctx, topics...)
	return all, translate(err)
}

// ResetGroup implements bus.GroupResetter. Each partition moves by itself: after a crash in
// between, the same reset moves the rest.
func (d *driver) ResetGroup(ctx context.Context, topic, group string, to bus.Place, dryRun bool) (bus.Moved, error) {
	if err := d.ready(ctx); err != nil {
		return bus.Moved{}, err
	}
	moved, err := d.hub.Reset(ctx, topic, group, to, dryRun)
	return moved, translate(err)
}

// DeleteGroup implements bus.GroupAdmin.
func (d *driver) DeleteGroup(ctx context.Context, topic, group string) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	return translate(d.hub.Delete(ctx, topic, group))
}

// Read implements bus.Reader.
func (d *driver) Read(ctx context.Context, topic string, from bus.Place, fn func(*message.Message) error) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	var own error
	err := d.hub.Read(ctx, topic, from, func(m *message.Message) error {
		own = fn(m)
		return own
	})
	if own != nil {
		return own
	}
	return translate(err)
}

// Place implements logsub.Places.
func (d *directory) Place(ctx context.Context, c log.Cursor) (log.Position, int64, error) {
	b, err := behind(ctx, d.client, d.scripts, d.registry.partition(c.Lane).stream, c.Consumer)
	if err != nil || !b.group {
		return log.Position{}, 0, err
	}
	at := number(b.place)
	if b.pending > 0 {
		at = number(b.oldest) - 1
	}
	return log.Position{From: b.place, ID: -1}, at, nil
}

// Forget implements logsub.Places.
func (d *directory) Forget(ctx context.Context, topic logsub.Topic, leases []log.Lease) error {
	for _, l := range leases {
		stream := d.registry.partition(l.Lane).stream
		there, err := d.scripts.forget.Run(ctx, d.client,
			[]string{stream, d.keys.lease(stream, l.Consumer)}, l.Holder, l.Token, l.Consumer).Bool()
		if err == nil && !there {
			err = log.ErrLeaseLost
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
