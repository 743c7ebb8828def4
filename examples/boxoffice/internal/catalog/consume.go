package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/fault"
)

// Consumers are the two groups that move seats after payments and
// cancellations.
func (s *Seating) Consumers() []store.Consumer {
	return []store.Consumer{
		{Topic: events.Payments, Group: events.GroupSold, Handlers: map[string]store.Handler{
			events.PaymentSuccess: s.sell,
		}},
		{Topic: events.Reservations, Group: events.GroupRelease, Handlers: map[string]store.Handler{
			events.ReservationCancelled: s.release,
		}},
	}
}

func (s *Seating) sell(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
	var paid events.Paid
	if err := e.UnmarshalData(&paid); err != nil {
		return "", fault.MarkPermanent(err)
	}
	if paid.PaymentType != events.ForReservation {
		return "not seats", nil
	}
	n, err := s.move(ctx, tx, s.sql.Sell, paid.ReservationID)
	if err != nil {
		return "", err
	}
	if n == 0 {
		return "none left", nil // the reservation ended before its payment came
	}
	show, seats, err := s.soldOf(ctx, tx, paid.ReservationID)
	if err != nil {
		return "", err
	}
	s.tellMirror(ctx, func(m Mirror) { m.Freed(show, paid.ReservationID, seats) })
	return "sold", s.tellSoldOut(ctx, tx, show, e)
}

// soldOf are the seats that were just sold.
func (s *Seating) soldOf(ctx context.Context, tx *sql.Tx, reservation string) (show string, seats []string, err error) {
	err = store.Each(ctx, tx, s.sql.SoldOf, []any{reservation}, func(row *sql.Rows) error {
		var seat string
		err := row.Scan(&show, &seat)
		seats = append(seats, seat)
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("catalog: seats of %s: %w", reservation, err)
	}
	return show, seats, nil
}

// tellSoldOut publishes ShowSoldOut when the sale took the show's last seats.
// Concurrent sales of one show each see the other's seats as held: they check again
// one after the other, behind the show's row.
func (s *Seating) tellSoldOut(ctx context.Context, tx *sql.Tx, show string, e event.Event) error {
	var left bool
	look := func(statement string) error {
		if err := tx.QueryRowContext(ctx, statement, show).Scan(&left); err != nil {
			return fmt.Errorf("catalog: seats left of %s: %w", show, err)
		}
		return nil
	}
	if err := look(s.sql.AnyAvailable); err != nil || left {
		return err
	}
	if err := tx.QueryRowContext(ctx, s.sql.LockShow, show).Scan(&show); err != nil {
		return fmt.Errorf("catalog: lock %s: %w", show, err)
	}
	if err := look(s.sql.AnyUnsold); err != nil || left {
		return err
	}
	gone, err := events.New(events.ShowSoldOut, "stock", show, e.ActorID, false, events.SoldOut{SoldOutAt: time.Now().UTC()})
	if err != nil {
		return err
	}
	return s.outbox.Append(ctx, tx, gone.CausedBy(e))
}

func (s *Seating) release(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
	if e.AggregateID == "" {
		return "", fault.MarkPermanent(fmt.Errorf("catalog: %s %s names no reservation", e.Type, e.ID))
	}
	n, err := s.move(ctx, tx, s.sql.Release, e.AggregateID)
	if err != nil {
		return "", err
	}
	if n == 0 {
		return "none held", nil
	}
	var ended events.Cancelled
	if e.UnmarshalData(&ended) == nil { // else the mirror finds out by itself
		s.tellMirror(ctx, func(m Mirror) { m.Freed(ended.ScheduleID, e.AggregateID, ended.SeatIDs) })
	}
	return "released", nil
}

func (s *Seating) move(ctx context.Context, tx *sql.Tx, statement, reservation string) (int64, error) {
	res, err := tx.ExecContext(ctx, statement, reservation)
	if err != nil {
		return 0, fmt.Errorf("catalog: seats of %s: %w", reservation, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("catalog: seats of %s: %w", reservation, err)
	}
	if n > 0 {
		s.listing.Evict(ctx, "")
	}
	return n, nil
}
