package pgoutbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/internal/log/pglog"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/sqltx"
)

// server is what both stores do beyond their own rows: they wake relays of other processes and
// are woken, adopt the cursors of an upgraded server, and find its oldest snapshot.
type server struct {
	*snapshots
	log *pglog.Log
}

// Notify implements driver.Notifier: one NOTIFY in a transaction of its own.
func (s server) Notify(ctx context.Context) error { return s.log.Notify(ctx) }

// NotifyIn implements driver.Notifier: the NOTIFY is sent by the commit of tx.
func (s server) NotifyIn(ctx context.Context, tx sqltx.Execer) error {
	if _, err := tx.ExecContext(ctx, "NOTIFY "+s.log.Channel()); err != nil {
		return fmt.Errorf("pgoutbox: notify: %w", err)
	}
	return nil
}

// waking runs a Retry so that its commit wakes the relays of other processes.
func (s server) waking(ctx context.Context, retry func(ctx context.Context, ids ...int64) (int, error), ids []int64) (n int, err error) {
	err = sqltx.Do(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error {
		if n, err = retry(ctx, ids...); err != nil || n == 0 {
			return err
		}
		return s.NotifyIn(ctx, tx)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Listen implements driver.Listener. It keeps one connection of the pool.
func (s server) Listen(ctx context.Context, wake func()) error {
	err := s.log.Listen(ctx, wake)
	switch {
	case errors.Is(err, pglog.ErrNoListen):
		return fmt.Errorf("%w: %w", driver.ErrUnsupported, err)
	case errors.Is(err, pglog.ErrPooler):
		return driver.ErrPooler
	case errors.Is(err, pglog.ErrOneConnection):
		return driver.ErrOneConnection
	}
	return err
}

// Adopt implements driver.Adopter.
func (s server) Adopt(ctx context.Context) error {
	if err := s.log.Adopt(ctx); err != nil {
		return fmt.Errorf("outbox: adopt: %w", err)
	}
	return nil
}
