package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
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

// Mirror is told of the held seats, after the commit that decided about them. It must
// not wait for anything.
type Mirror interface {
	Held(show, reservation string, seats []string)
	Freed(show, reservation string, seats []string)
}

// Seating gives seats to reservations and takes them back.
type Seating struct {
	outbox  store.Appender
	sql     *statements
	listing *Listing
	mirror  Mirror // nil for none
}

// SetMirror makes m the mirror of held seats. It is called before the first hold.
func (s *Seating) SetMirror(m Mirror) { s.mirror = m }

// Hold gives the seats to a reservation until expiresAt, all or none, inside
// tx. It returns a *TakenError or *UnknownSeatsError; the transaction must then
// be rolled back. There must be 1 to MaxSeats distinct seats.
func (s *Seating) Hold(ctx context.Context, tx *sql.Tx, reservation, show string, seats []string, expiresAt int64) error {
	args := append([]any{reservation, expiresAt, show}, store.Args(seats...)...)
	res, err := tx.ExecContext(ctx, store.In(s.sql.Hold, 4, len(seats)), args...)
	if err != nil {
		return fmt.Errorf("catalog: hold: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("catalog: hold: %w", err)
	}
	if int(n) != len(seats) {
		return s.whyNot(ctx, tx, reservation, show, seats)
	}
	s.listing.Evict(ctx, show)
	s.tellMirror(ctx, func(m Mirror) { m.Held(show, reservation, seats) })
	return nil
}

// Keep stores which seats the reservation holds, once it exists.
func (s *Seating) Keep(ctx context.Context, tx *sql.Tx, reservation string) error {
	if _, err := tx.ExecContext(ctx, s.sql.Keep, reservation); err != nil {
		return fmt.Errorf("catalog: keep the seats of %s: %w", reservation, err)
	}
	return nil
}

// Price is the price of all seats of a reservation, in won.
func (s *Seating) Price(ctx context.Context, tx *sql.Tx, reservation string) (won int64, err error) {
	if err := tx.QueryRowContext(ctx, s.sql.Price, reservation).Scan(&won); err != nil {
		return 0, fmt.Errorf("catalog: price of %s: %w", reservation, err)
	}
	return won, nil
}

// whyNot finds the seats that prevented a hold.
func (s *Seating) whyNot(ctx context.Context, tx *sql.Tx, reservation, show string, seats []string) error {
	known := map[string]bool{}
	var taken, unknown []string
	err := store.Each(ctx, tx, store.In(s.sql.Asked, 2, len(seats)), append([]any{show}, store.Args(seats...)...), func(row *sql.Rows) error {
		var seat, owner string
		err := row.Scan(&seat, &owner)
		known[seat] = true
		if owner != reservation {
			taken = append(taken, seat)
		}
		return err
	})
	if err != nil {
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

// tellMirror tells the mirror of a change once it is committed.
func (s *Seating) tellMirror(ctx context.Context, tell func(Mirror)) {
	if s.mirror != nil {
		sqltx.AfterCommit(ctx, func() { tell(s.mirror) })
	}
}
