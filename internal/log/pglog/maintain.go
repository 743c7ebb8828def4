package pglog

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/sqltx"
)

// Rebase is that of sqllog.Log.
func (l *Log) Rebase(ctx context.Context, c log.Cursor, since time.Time) error {
	err := sqltx.Do(ctx, l.db, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, l.sql.rebasePruned, c.Lane); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, l.sql.rebaseRows, c.Lane)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, l.sql.rebaseCursors, c.Lane, since, n > 0)
		return err
	})
	if err != nil {
		return fmt.Errorf("pglog: rebase lane %d: %w", c.Lane, err)
	}
	l.pruned.Delete(c.Lane)
	return nil
}

// Adopt adopts all cursors of another database system unchanged, if this server continues its
// transaction ids, as after pg_upgrade. It refuses with an [AdoptError] when a stored id may be
// assigned again on this server.
func (l *Log) Adopt(ctx context.Context) error {
	err := sqltx.Do(ctx, l.db, func(ctx context.Context, tx *sql.Tx) error {
		var reached bool
		refused := &AdoptError{}
		if err := tx.QueryRowContext(ctx, l.sql.adoptCheck).Scan(&refused.Stored, &refused.Oldest, &reached); err != nil {
			return err
		}
		if reached {
			return refused
		}
		_, err := tx.ExecContext(ctx, l.sql.adopt)
		return err
	})
	if err != nil {
		return fmt.Errorf("pglog: adopt: %w", err)
	}
	return nil
}

// AdoptError reports that the rows and positions of another system cannot be distinguished from
// those that this server writes.
type AdoptError struct {
	Stored string // the greatest transaction id that is stored
	Oldest string // the oldest transaction that runs on the server
}

func (e *AdoptError) Error() string {
	return fmt.Sprintf("transaction id %s is stored, and the oldest that runs on this server is %s: after pg_upgrade, end the transactions that are open and try again; where a dump was restored, run millrace outbox rebase",
		e.Stored, e.Oldest)
}
