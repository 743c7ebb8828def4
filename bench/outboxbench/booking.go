package outboxbench

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

// bookingShare runs booking transactions like the box office's (lock two seats,
// hold them, insert the reservation and its seats, append the event) and returns
// the part of their time that the append takes.
func bookingShare(ctx context.Context, base string, n int) (float64, error) {
	d, err := newDatabase(base, "bench_booking")
	if err != nil {
		return 0, err
	}
	if err := d.recreate(ctx); err != nil {
		return 0, err
	}
	defer d.drop(context.WithoutCancel(ctx)) //nolint:errcheck // best effort after the measurement
	db, err := d.open()
	if err != nil {
		return 0, err
	}
	defer db.Close() //nolint:errcheck // measured work is done
	store, err := pgoutbox.New(db, pgoutbox.Config{})
	if err != nil {
		return 0, err
	}
	if err := store.Migrate(ctx); err != nil {
		return 0, err
	}
	box, err := outbox.New(store, outbox.Config{Topic: "reservation.events"})
	if err != nil {
		return 0, err
	}
	for _, s := range []string{
		`CREATE TABLE seats (id int PRIMARY KEY, status text NOT NULL, reservation_id int)`,
		`CREATE TABLE reservations (id int PRIMARY KEY, member text NOT NULL, status text NOT NULL, hold_expires_at timestamptz NOT NULL)`,
		`CREATE TABLE reservation_seats (reservation_id int REFERENCES reservations, seat_id int REFERENCES seats, PRIMARY KEY (reservation_id, seat_id))`,
		`INSERT INTO seats SELECT g, 'AVAILABLE' FROM generate_series(0, 2 * ` + fmt.Sprint(n) + `) AS g`,
	} {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return 0, err
		}
	}
	var whole, append_ time.Duration
	for i := range n {
		e, err := newEvent(payloadOf(300), i)
		if err != nil {
			return 0, err
		}
		start := time.Now()
		err = sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
			for _, s := range []struct {
				query string
				args  []any
			}{
				{`SELECT id FROM seats WHERE id IN ($1, $2) AND status = 'AVAILABLE' ORDER BY id FOR UPDATE`, []any{2 * i, 2*i + 1}},
				{`INSERT INTO reservations VALUES ($1, 'member', 'PENDING', now() + interval '5 minutes')`, []any{i}},
				{`UPDATE seats SET status = 'HOLD', reservation_id = $3 WHERE id IN ($1, $2)`, []any{2 * i, 2*i + 1, i}},
				{`INSERT INTO reservation_seats VALUES ($3, $1), ($3, $2)`, []any{2 * i, 2*i + 1, i}},
			} {
				if _, err := tx.ExecContext(ctx, s.query, s.args...); err != nil {
					return err
				}
			}
			before := time.Now()
			err := box.Append(ctx, tx, e)
			append_ += time.Since(before)
			return err
		})
		if err != nil {
			return 0, err
		}
		whole += time.Since(start)
	}
	return float64(append_) / float64(whole), nil
}
