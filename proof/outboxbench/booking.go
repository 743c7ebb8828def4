package outboxbench

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
	"github.com/millrace-go/millrace/proof/backlog"
	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/sqltx"
)

// share is the part of a booking transaction's time that a step takes.
type share struct{ append, roundTrip float64 }

// booking is the work of a booking transaction before it appends its event: the
// statements of the box office's.
var booking = []string{
	`SELECT max(id) FROM seats WHERE id = $1`,
	`UPDATE seats SET status = 'HOLD', reservation_id = $1 WHERE id IN (2 * $1, 2 * $1 + 1) AND status = 'AVAILABLE'`,
	`INSERT INTO reservations (id, member, status, hold_expires_at) VALUES ($1, 'member', 'PENDING', 0)`,
	`INSERT INTO reservation_seats (reservation_id, seat_id) SELECT $1, id FROM seats WHERE reservation_id = $1`,
	`SELECT count(*) FROM reservation_seats WHERE reservation_id = $1`,
}

var bookingSchema = []string{
	`CREATE TABLE seats (id INTEGER PRIMARY KEY, status TEXT NOT NULL, reservation_id INTEGER)`,
	`CREATE INDEX seats_reservation ON seats (reservation_id)`,
	`CREATE TABLE reservations (id INTEGER PRIMARY KEY, member TEXT NOT NULL, status TEXT NOT NULL, hold_expires_at BIGINT NOT NULL)`,
	`CREATE TABLE reservation_seats (reservation_id INTEGER REFERENCES reservations, seat_id INTEGER REFERENCES seats, PRIMARY KEY (reservation_id, seat_id))`,
}

// bookingShare measures n bookings on PostgreSQL.
func bookingShare(ctx context.Context, cfg Config, n int) (share, error) {
	d, err := place.Postgres(cfg.URL, cfg.Prefix+"_booking")
	if err != nil {
		return share{}, err
	}
	defer d.Drop(context.WithoutCancel(ctx)) //nolint:errcheck // best effort after the measurement
	db, err := d.Fresh(ctx)
	if err != nil {
		return share{}, err
	}
	defer db.Close() //nolint:errcheck // measured work is done
	store, err := pgoutbox.New(db, pgoutbox.Config{})
	if err != nil {
		return share{}, err
	}
	return book(ctx, db, store, n)
}

// bookingShareSQLite measures n bookings on a SQLite file that is synced at
// every commit, the box office's default.
func bookingShareSQLite(ctx context.Context, n int) (share, error) {
	dir, err := os.MkdirTemp("", "millrace-bench-")
	if err != nil {
		return share{}, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	db, err := sqlitedb.Open(filepath.Join(dir, "booking.db"), sqlitedb.Config{})
	if err != nil {
		return share{}, err
	}
	defer db.Close() //nolint:errcheck // measured work is done
	store, err := sqliteoutbox.New(db, sqliteoutbox.Config{})
	if err != nil {
		return share{}, err
	}
	return book(ctx, db, store, n)
}

// book runs n booking transactions and takes the time of their parts.
func book(ctx context.Context, db *sql.DB, store driver.SQLStore, n int) (share, error) {
	if err := store.Migrate(ctx); err != nil {
		return share{}, err
	}
	box, err := outbox.New(store, outbox.Config{Topic: "reservation.events"})
	if err != nil {
		return share{}, err
	}
	defer box.Close(context.WithoutCancel(ctx)) //nolint:errcheck // measured work is done
	err = sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		for _, s := range bookingSchema {
			if _, err := tx.ExecContext(ctx, s); err != nil {
				return err
			}
		}
		for id := range 2*n + 2 {
			if _, err := tx.ExecContext(ctx, `INSERT INTO seats (id, status) VALUES ($1, 'AVAILABLE')`, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return share{}, err
	}
	data := backlog.Text(300)
	var whole, appending, empty time.Duration
	for i := range n {
		e, err := backlog.Event(i, manyKeys, data(i))
		if err != nil {
			return share{}, err
		}
		start := time.Now()
		var probe time.Duration // not part of a booking
		err = sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
			for _, s := range booking {
				if _, err := tx.ExecContext(ctx, s, i); err != nil {
					return fmt.Errorf("%s: %w", s, err)
				}
			}
			before := time.Now()
			if err := box.Append(ctx, tx, e); err != nil {
				return err
			}
			appending += time.Since(before)
			before = time.Now()
			_, err := tx.ExecContext(ctx, `SELECT 1`)
			probe = time.Since(before)
			return err
		})
		if err != nil {
			return share{}, err
		}
		whole += time.Since(start) - probe
		empty += probe
	}
	return share{append: float64(appending) / float64(whole), roundTrip: float64(empty) / float64(whole)}, nil
}
