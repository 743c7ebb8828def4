package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/sqltx"
)

// MaxSeats is how many seats one reservation may ask for.
const MaxSeats = 10

// TakenError names the requested seats that are taken.
type TakenError struct{ Seats []string }

func (e *TakenError) Error() string {
	return "catalog: taken: " + strings.Join(e.Seats, ", ")
}

// UnknownSeatsError names requested seats that the show does not have.
type UnknownSeatsError struct{ Seats []string }

func (e *UnknownSeatsError) Error() string {
	return "catalog: no such seats: " + strings.Join(e.Seats, ", ")
}

// Hold gives the seats to a reservation until expiresAt, all or none, inside
// tx. It returns a *TakenError or *UnknownSeatsError; the transaction must then
// be rolled back. There must be 1 to MaxSeats distinct seats.
func (c *Catalog) Hold(ctx context.Context, tx *sql.Tx, reservation, show string, seats []string, expiresAt int64) error {
	args := append([]any{reservation, expiresAt, show}, padded(seats)...)
	res, err := tx.ExecContext(ctx, c.sql.Hold, args...)
	if err != nil {
		return fmt.Errorf("catalog: hold: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("catalog: hold: %w", err)
	}
	if int(n) != len(seats) {
		return c.whyNot(ctx, tx, reservation, show, seats)
	}
	c.afterCommit(ctx)
	c.tellMirror(ctx, func(m Mirror) { m.Held(show, reservation, seats) })
	return nil
}

// Keep stores which seats the reservation holds, once it exists.
func (c *Catalog) Keep(ctx context.Context, tx *sql.Tx, reservation string) error {
	if _, err := tx.ExecContext(ctx, c.sql.Keep, reservation); err != nil {
		return fmt.Errorf("catalog: keep the seats of %s: %w", reservation, err)
	}
	return nil
}

// Price is the price of all seats of a reservation, in won.
func (c *Catalog) Price(ctx context.Context, tx *sql.Tx, reservation string) (won int64, err error) {
	if err := tx.QueryRowContext(ctx, c.sql.Price, reservation).Scan(&won); err != nil {
		return 0, fmt.Errorf("catalog: price of %s: %w", reservation, err)
	}
	return won, nil
}

// whyNot finds the seats that prevented a hold.
func (c *Catalog) whyNot(ctx context.Context, tx *sql.Tx, reservation, show string, seats []string) error {
	rows, err := tx.QueryContext(ctx, c.sql.Asked, append([]any{show}, padded(seats)...)...)
	if err != nil {
		return fmt.Errorf("catalog: hold: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	known := map[string]bool{}
	var taken, unknown []string
	for rows.Next() {
		var seat, owner string
		if err := rows.Scan(&seat, &owner); err != nil {
			return fmt.Errorf("catalog: hold: %w", err)
		}
		known[seat] = true
		if owner != reservation {
			taken = append(taken, seat)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("catalog: hold: %w", err)
	}
	for _, seat := range seats {
		if !known[seat] {
			unknown = append(unknown, seat)
		}
	}
	if len(unknown) > 0 {
		return &UnknownSeatsError{Seats: unknown}
	}
	return &TakenError{Seats: taken}
}

// afterCommit makes the change visible to readers once it is committed.
func (c *Catalog) afterCommit(ctx context.Context) {
	if !sqltx.AfterCommit(ctx, c.changed) {
		c.changed() // no commit to wait for; readers are at most maxAge behind
	}
}

// tellMirror tells the mirror of a change once it is committed.
func (c *Catalog) tellMirror(ctx context.Context, tell func(Mirror)) {
	if c.mirror != nil {
		sqltx.AfterCommit(ctx, func() { tell(c.mirror) })
	}
}

// padded fills the list up to MaxSeats with its last seat.
func padded(seats []string) []any {
	args := make([]any, MaxSeats)
	for i := range args {
		args[i] = seats[min(i, len(seats)-1)]
	}
	return args
}
