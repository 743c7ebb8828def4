package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/sse"
)

const (
	rows, columns = 4, 5
	price         = 2500 // cents
)

const tables = `
CREATE TABLE IF NOT EXISTS seats (
	id TEXT PRIMARY KEY,
	state TEXT NOT NULL DEFAULT 'free', -- free, held, paying, sold
	buyer TEXT NOT NULL DEFAULT '',
	until BIGINT NOT NULL DEFAULT 0 -- of a held one, seconds since 1970
);
CREATE UNIQUE INDEX IF NOT EXISTS seats_held ON seats (buyer) WHERE state = 'held';
CREATE TABLE IF NOT EXISTS orders (
	id TEXT PRIMARY KEY,
	seat TEXT NOT NULL,
	buyer TEXT NOT NULL,
	cents BIGINT NOT NULL,
	state TEXT NOT NULL -- asked, paid, declined
);
CREATE TABLE IF NOT EXISTS tickets (
	seat TEXT PRIMARY KEY,
	order_id TEXT NOT NULL,
	buyer TEXT NOT NULL
)`

// shop has the actions of buyers and the handlers of their events.
type shop struct {
	app      *millrace.App[*sql.Tx]
	provider *provider
	hub      *sse.Hub
	hold     time.Duration
}

// Seat is a seat as the page shows it.
type Seat struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Mine  bool   `json:"mine"`
	Until int64  `json:"until,omitempty"`
}

// errTaken is returned when a seat is not the buyer's to take or to pay.
var errTaken = errors.New("this seat is not yours to take any more")

func (s *shop) migrate(ctx context.Context) error {
	return s.app.Do(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for _, statement := range strings.Split(tables, ";") {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		for row := range rows {
			for column := range columns {
				_, err := tx.ExecContext(ctx, `INSERT INTO seats (id) VALUES ($1) ON CONFLICT (id) DO NOTHING`,
					fmt.Sprintf("%c%d", 'A'+row, column+1))
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// seats are all seats, as a buyer sees them.
func (s *shop) seats(ctx context.Context, buyer string) (all []Seat, err error) {
	err = s.app.Do(ctx, func(ctx context.Context, tx *sql.Tx) error {
		all = nil // Do may run this again
		rows, err := tx.QueryContext(ctx, `SELECT id, state, buyer, until FROM seats ORDER BY id`)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // Err is returned
		for rows.Next() {
			var seat Seat
			var of string
			if err := rows.Scan(&seat.ID, &seat.State, &of, &seat.Until); err != nil {
				return err
			}
			if seat.Mine = of == buyer; !seat.Mine || seat.State != "held" {
				seat.Until = 0
			}
			all = append(all, seat)
		}
		return rows.Err()
	})
	return all, err
}

// take holds a seat for a buyer, in the place of another one that the buyer holds. An
// expired hold counts as none, and taking a seat again does not prolong its hold.
func (s *shop) take(ctx context.Context, seat, buyer string) error {
	now := time.Now()
	return s.app.Do(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.freeIn(ctx, tx, `state = 'held' AND buyer = $1 AND id <> $2`, buyer, seat); err != nil {
			return err
		}
		held := Held{Seat: seat, Buyer: buyer}
		err := tx.QueryRowContext(ctx, `UPDATE seats SET state = 'held', buyer = $1, until = CASE WHEN state = 'held' AND until > $4 THEN until ELSE $2 END
			WHERE id = $3 AND (state = 'free' OR state = 'held' AND (until <= $4 OR buyer = $1)) RETURNING until`,
			buyer, now.Add(s.hold).Unix(), seat, now.Unix()).Scan(&held.Until)
		var refused interface{ SQLState() string }
		if errors.Is(err, sql.ErrNoRows) || errors.As(err, &refused) && refused.SQLState() == "23505" { // seats_held
			return errTaken
		}
		if err != nil {
			return err
		}
		return s.app.Emit(ctx, tx, held)
	})
}

// pay requests the payment of a seat that the buyer holds. The card is charged later, and
// once, even if this process dies.
func (s *shop) pay(ctx context.Context, seat, buyer, card string) error {
	order := rand.Text()
	return s.app.Do(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := changed(tx.ExecContext(ctx, `UPDATE seats SET state = 'paying' WHERE id = $1 AND buyer = $2 AND state = 'held' AND until > $3`,
			seat, buyer, time.Now().Unix())); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO orders (id, seat, buyer, cents, state) VALUES ($1, $2, $3, $4, 'asked')`,
			order, seat, buyer, price); err != nil {
			return err
		}
		return s.app.Emit(ctx, tx, PaymentAsked{order, seat, buyer, card, price})
	})
}

// freeExpired frees seats whose hold is over, until ctx ends.
func (s *shop) freeExpired(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if err := s.free(ctx, `state = 'held' AND until <= $1`, time.Now().Unix()); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "holds that are over stay until the next second", "error", err)
		}
	}
}

// free frees the seats that match a condition.
func (s *shop) free(ctx context.Context, where string, args ...any) error {
	return s.app.Do(ctx, func(ctx context.Context, tx *sql.Tx) error { return s.freeIn(ctx, tx, where, args...) })
}

func (s *shop) freeIn(ctx context.Context, tx *sql.Tx, where string, args ...any) error {
	freed, err := tx.QueryContext(ctx, `UPDATE seats SET state = 'free', buyer = '', until = 0 WHERE `+where+` RETURNING id`, args...)
	if err != nil {
		return err
	}
	defer freed.Close() //nolint:errcheck // Err is returned
	var events []millrace.Event
	for freed.Next() {
		var e Freed
		if err := freed.Scan(&e.Seat); err != nil {
			return err
		}
		events = append(events, e)
	}
	if err := errors.Join(freed.Err(), freed.Close()); err != nil || len(events) == 0 {
		return err
	}
	return s.app.Emit(ctx, tx, events...)
}

// changed makes an error of a statement that changed no row.
func changed(res sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		err = errTaken
	}
	return err
}
