package logbus

import (
	"context"
	"database/sql"
	"errors"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logsub"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/sqltx"
)

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

// beginning is PostgreSQL's snapshot for a new cursor.
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
