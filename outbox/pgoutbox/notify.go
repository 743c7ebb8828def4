package pgoutbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/internal/log/pglog"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/sqltx"
)

func notifyIn(ctx context.Context, tx sqltx.Execer, log *pglog.Log) error {
	if _, err := tx.ExecContext(ctx, "NOTIFY "+log.Channel()); err != nil {
		return fmt.Errorf("pgoutbox: notify: %w", err)
	}
	return nil
}

func listen(ctx context.Context, log *pglog.Log, wake func()) error {
	err := log.Listen(ctx, wake)
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

// tell wakes the relays of other processes after n events were retried.
func tell(ctx context.Context, log *pglog.Log, n int, err error) error {
	if err != nil || n == 0 {
		return err
	}
	return log.Notify(ctx)
}
