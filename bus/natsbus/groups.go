package natsbus

import (
	"context"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
)

var _ logdriver.Places = (*directory)(nil)

// Live implements logdriver.Places. The server's time decides which members have died,
// because there may be no other member whose writes would show it.
func (d *directory) Live(ctx context.Context, topic, group string) (bool, error) {
	all, err := d.list(ctx, "member."+token(topic)+"."+token(group)+".*")
	if err != nil || len(all) == 0 {
		return false, err
	}
	now, err := d.now(ctx)
	if err != nil {
		return false, err
	}
	for _, f := range all {
		m, err := decode[member](f)
		if err != nil || now.Before(f.at.Add(m.TTL)) {
			return err == nil, err
		}
	}
	return false, nil
}

// Place implements logdriver.Places. A partition's numbers are the sequences of its stream.
func (d *directory) Place(ctx context.Context, c logdriver.Cursor) (logdriver.Position, int64, error) {
	at, err := d.position(ctx, c)
	return logdriver.Position{ID: at}, at, err
}

// position is a group's place; 0 is before the first message.
func (d *directory) position(ctx context.Context, c logdriver.Cursor) (int64, error) {
	p := d.registry.partition(c.Lane)
	_, created, _ := d.registry.topic(p.topic)
	have, _, err := read[cursor](ctx, d.link, cursorKey(p, c.Consumer))
	return have.place(created), err
}

// Forget implements logdriver.Places. Each cursor is written under its lease first, so the
// lease is still held when the cursor is removed.
func (d *directory) Forget(ctx context.Context, topic logdriver.Topic, leases []logdriver.Lease) error {
	for _, lease := range leases {
		p := d.registry.partition(lease.Lane)
		_, _, err := change(ctx, d.link, cursorKey(p, lease.Consumer), func(have *cursor, _ found) error {
			if have.Token != lease.Token || have.Holder != lease.Holder {
				return logdriver.ErrLeaseLost
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, lease := range leases {
		p := d.registry.partition(lease.Lane)
		for _, key := range []string{cursorKey(p, lease.Consumer), startsKey(p, lease.Consumer)} {
			if _, err := d.purge(ctx, d.bucket(), d.stored(key), 0); err != nil {
				return err
			}
		}
	}
	_, err := d.purge(ctx, d.bucket(), d.stored("member."+token(topic.Name)+"."+token(leases[0].Consumer)+".*"), 0)
	return err
}
