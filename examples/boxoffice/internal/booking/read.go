package booking

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

// maxTickets bounds a member's list; the newest come first.
const maxTickets = 200

// Get returns the member's reservation, or ErrNotFound.
func (b *Booking) Get(ctx context.Context, member, id string) (Reservation, error) {
	db := b.store.Reader()
	r, err := scan(db.QueryRowContext(ctx, b.sql.ByID, id, member))
	if errors.Is(err, sql.ErrNoRows) {
		return Reservation{}, ErrNotFound
	}
	if err != nil {
		return Reservation{}, fmt.Errorf("booking: read %s: %w", id, err)
	}
	r.SeatIDs, err = b.seatsOf(ctx, db, id)
	return r, err
}

// List returns the member's newest reservations, at most 200.
func (b *Booking) List(ctx context.Context, member string) ([]Reservation, error) {
	list, err := b.list(ctx, member)
	if err != nil {
		return nil, fmt.Errorf("booking: list: %w", err)
	}
	return list, nil
}

func (b *Booking) list(ctx context.Context, member string) ([]Reservation, error) {
	db := b.store.Reader()
	seats, err := b.seatsOfMember(ctx, db, member)
	if err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, b.sql.ByMember, member, maxTickets)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	list := []Reservation{}
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, err
		}
		if r.SeatIDs = seats[r.ID]; r.SeatIDs == nil {
			// Made between the two reads.
			if r.SeatIDs, err = b.seatsOf(ctx, db, r.ID); err != nil {
				return nil, err
			}
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

func (b *Booking) seatsOfMember(ctx context.Context, db *sql.DB, member string) (map[string][]string, error) {
	rows, err := db.QueryContext(ctx, b.sql.SeatsOfMember, member)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	seats := map[string][]string{}
	for rows.Next() {
		var id, seat string
		if err := rows.Scan(&id, &seat); err != nil {
			return nil, err
		}
		seats[id] = append(seats[id], seat)
	}
	return seats, rows.Err()
}

type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (b *Booking) seatsOf(ctx context.Context, db querier, id string) ([]string, error) {
	rows, err := db.QueryContext(ctx, b.sql.SeatsOf, id)
	if err != nil {
		return nil, fmt.Errorf("booking: seats of %s: %w", id, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	seats := []string{}
	for rows.Next() {
		var seat string
		if err := rows.Scan(&seat); err != nil {
			return nil, fmt.Errorf("booking: seats of %s: %w", id, err)
		}
		seats = append(seats, seat)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("booking: seats of %s: %w", id, err)
	}
	return seats, nil
}

func scan(row interface{ Scan(...any) error }) (Reservation, error) {
	var r Reservation
	var holds, created, transferred, used int64
	err := row.Scan(&r.ID, &r.ShowID, &r.MemberID, &r.Status, &r.Reason, &r.Amount, &holds, &created, &transferred, &used,
		&r.PaymentID, &r.PaymentStatus, &r.FailureReason, &r.RefundState, &r.RefundReason)
	r.HoldExpiresAt, r.CreatedAt, r.Transferred, r.Used = events.Time(holds), events.Time(created), transferred > 0, used > 0
	return r, err
}

// Row is a reservation as a transaction finds it after taking its row lock.
type Row struct {
	ShowID, MemberID string
	Status, Reason   string
	Amount           int64
	HoldOver         bool   // the hold's time is over, in any status
	PaymentID        string // of the payment that confirmed it
	Transferred      bool
	Used             bool // a seat of it was scanned at the door
}

// Lock reads a reservation inside tx and keeps others from changing it until
// tx ends. It returns ErrNotFound.
func (b *Booking) Lock(ctx context.Context, tx *sql.Tx, id string) (Row, error) {
	var r Row
	var expires, transferred, used int64
	err := tx.QueryRowContext(ctx, b.sql.Lock, id).Scan(&r.ShowID, &r.MemberID, &r.Status, &r.Reason, &r.Amount,
		&expires, &r.HoldOver, &r.PaymentID, &transferred, &used)
	if errors.Is(err, sql.ErrNoRows) {
		return Row{}, ErrNotFound
	}
	if err != nil {
		return Row{}, fmt.Errorf("booking: lock %s: %w", id, err)
	}
	r.Transferred, r.Used = transferred > 0, used > 0
	return r, nil
}
