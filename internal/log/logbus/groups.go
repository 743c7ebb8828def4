package logbus

import (
	"context"
	"database/sql"
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logsub"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/sqltx"
)

// Groups implements bus.GroupAdmin.
func (d *Driver) Groups(ctx context.Context, topics ...string) ([]bus.Group, error) {
	if err := d.Ready(ctx); err != nil {
		return nil, err
	}
	all, err := d.hub.Groups(ctx, topics...)
	return all, d.translate(err)
}

// ResetGroup implements bus.GroupResetter. All partitions move in one transaction.
func (d *Driver) ResetGroup(ctx context.Context, topic, group string, to bus.Place, dryRun bool) (bus.Moved, error) {
	if err := d.Ready(ctx); err != nil {
		return bus.Moved{}, err
	}
	moved, err := d.hub.Reset(ctx, topic, group, to, dryRun)
	return moved, d.translate(err)
}

// DeleteGroup implements bus.GroupAdmin.
func (d *Driver) DeleteGroup(ctx context.Context, topic, group string) error {
	if err := d.Ready(ctx); err != nil {
		return err
	}
	return d.translate(d.hub.Delete(ctx, topic, group))
}

// Read implements bus.Reader.
func (d *Driver) Read(ctx context.Context, topic string, from bus.Place, fn func(*message.Message) error) error {
	if err := d.Ready(ctx); err != nil {
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
	return d.translate(err)
}

// Place implements logsub.Places.
func (d *directory) Place(ctx context.Context, c log.Cursor) (p log.Position, number int64, err error) {
	err = d.reader.QueryRowContext(ctx, d.sql.position, c.Consumer, c.Lane).Scan(&p.From, &p.To, &p.End, &p.Floor, &p.ID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return log.Position{}, 0, nil
	case p.ID != 0:
		return p, p.ID, err
	case p.Floor == 0 && p.From != "" && p.From != beginning:
		return p, -1, err // behind a window of PostgreSQL that bounds no ids
	}
	return p, p.Floor, err
}

// beginning is the snapshot of PostgreSQL at which a new cursor stands.
const beginning = "1:1:"

// Forget implements logsub.Places.
func (d *directory) Forget(ctx context.Context, _ logsub.Topic, leases []log.Lease) error {
	return sqltx.Do(ctx, d.db, func(ctx context.Context, tx *sql.Tx) error {
		for _, l := range leases {
			res, err := tx.ExecContext(ctx, d.sql.forget, l.Consumer, l.Lane, l.Token)
			if err := sqllog.Held(res, err, 1); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, d.sql.forgetStarts, l.Consumer, l.Lane); err != nil {
				return err
			}
		}
		return nil
	})
}
