package booking

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// maxTickets bounds a member's list; the newest come first.
const maxTickets = 200

// Reservations are those of a member.
type Reservations struct{ *desk }

// Get returns the member's reservation, or ErrNotFound.
func (m *Reservations) Get(ctx context.Context, member, id string) (Reservation, error) {
	db := m.store.Reader()
	r, err := scan(db.QueryRowContext(ctx, m.sql.ByID, id, member))
	if errors.Is(err, sql.ErrNoRows) {
		return Reservation{}, ErrNotFound
	}
	if err != nil {
		return Reservation{}, fmt.Errorf("booking: read %s: %w", id, err)
	}
	r.SeatIDs, err = m.seatsOf(ctx, db, id)
	return r, err
}

// List returns the member's newest reservations, at most 200.
func (m *Reservations) List(ctx context.Context, member string) ([]Reservation, error) {
	list, err := m.list(ctx, member)
	if err != nil {
		return nil, fmt.Errorf("booking: list: %w", err)
	}
	return list, nil
}

func (m *Reservations) list(ctx context.Context, member string) ([]Reservation, error) {
	db := m.store.Reader()
	seats, err := m.seatsOfMember(ctx, db, member)
	if err != nil {
		return nil, err
	}
	return store.List(ctx, db, m.sql.ByMember, []any{member, maxTickets}, func(row *sql.Rows) (Reservation, error) {
		r, err := scan(row)
		if r.SeatIDs = seats[r.ID]; err == nil && r.SeatIDs == nil {
			// Made between the two reads.
			r.SeatIDs, err = m.seatsOf(ctx, db, r.ID)
		}
		return r, err
	})
}

func (m *Reservations) seatsOfMember(ctx context.Context, db *sql.DB, member string) (map[string][]string, error) {
	seats := map[string][]string{}
	return seats, store.Each(ctx, db, m.sql.SeatsOfMember, []any{member, maxTickets}, func(row *sql.Rows) error {
		var id, seat string
		err := row.Scan(&id, &seat)
		seats[id] = append(seats[id], seat)
		return err
	})
}

func scan(row interface{ Scan(...any) error }) (Reservation, error) {
	var r Reservation
	var holds, created, transferred, used int64
	err := row.Scan(&r.ID, &r.ShowID, &r.MemberID, &r.Status, &r.Reason, &r.Amount, &holds, &created, &transferred, &used,
		&r.PaymentID, &r.PaymentStatus, &r.FailureReason, &r.RefundState, &r.RefundReason)
	r.HoldExpiresAt, r.CreatedAt, r.Transferred, r.Used = events.Time(holds), events.Time(created), transferred > 0, used > 0
	return r, err
}
