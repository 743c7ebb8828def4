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
func (c *Catalog) Consumers() []store.Consumer {
	return []store.Consumer{
		{Topic: events.Payments, Group: events.GroupSold, Handlers: map[string]store.Handler{
			events.PaymentSuccess: c.sell,
		}},
		{Topic: events.Reservations, Group: events.GroupRelease, Handlers: map[string]store.Handler{
			events.ReservationCancelled: c.release,
		}},
	}
}

func (c *Catalog) sell(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
	var paid events.Paid
	if err := e.UnmarshalData(&paid); err != nil {
		return "", fault.MarkPermanent(err)
	}
	if paid.PaymentType != events.ForReservation {
		return "not seats", nil
	}
	n, err := c.move(ctx, tx, c.sql.Sell, paid.ReservationID)
	if err != nil {
		return "", err
	}
	if n == 0 {
		return "none left", nil // the reservation ended before its payment came
	}
	show, seats, err := c.soldOf(ctx, tx, paid.ReservationID)
	if err != nil {
		return "", err
	}
	c.tellMirror(ctx, func(m Mirror) { m.Freed(show, paid.ReservationID, seats) })
	return "sold", c.tellSoldOut(ctx, tx, show, e)
}

// soldOf are the seats that were just sold.
func (c *Catalog) soldOf(ctx context.Context, tx *sql.Tx, reservation string) (show string, seats []string, err error) {
	rows, err := tx.QueryContext(ctx, c.sql.SoldOf, reservation)
	if err != nil {
		return "", nil, fmt.Errorf("catalog: seats of %s: %w", reservation, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	for rows.Next() {
		var seat string
		if err := rows.Scan(&show, &seat); err != nil {
			return "", nil, fmt.Errorf("catalog: seats of %s: %w", reservation, err)
		}
		seats = append(seats, seat)
	}
	if err := rows.Err(); err != nil {
		return "", nil, fmt.Errorf("catalog: seats of %s: %w", reservation, err)
	}
	return show, seats, nil
}

// tellSoldOut publishes ShowSoldOut when the sale took the show's last seats.
// Concurrent sales of one show each see the other's seats as held: they check again
// one after the other, behind the show's row.
func (c *Catalog) tellSoldOut(ctx context.Context, tx *sql.Tx, show string, e event.Event) error {
	var left bool
	look := func(statement string) error {
		if err := tx.QueryRowContext(ctx, statement, show).Scan(&left); err != nil {
			return fmt.Errorf("catalog: seats left of %s: %w", show, err)
		}
		return nil
	}
	if err := look(c.sql.AnyAvailable); err != nil || left {
		return err
	}
	if err := tx.QueryRowContext(ctx, c.sql.LockShow, show).Scan(&show); err != nil {
		return fmt.Errorf("catalog: lock %s: %w", show, err)
	}
	if err := look(c.sql.AnyUnsold); err != nil || left {
		return err
	}
	gone, err := events.New(events.ShowSoldOut, "stock", show, e.ActorID, false, events.SoldOut{SoldOutAt: time.Now().UTC()})
	if err != nil {
		return err
	}
	return c.outbox.Append(ctx, tx, gone.CausedBy(e))
}

func (c *Catalog) release(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
	if e.AggregateID == "" {
		return "", fault.MarkPermanent(fmt.Errorf("catalog: %s %s names no reservation", e.Type, e.ID))
	}
	n, err := c.move(ctx, tx, c.sql.Release, e.AggregateID)
	if err != nil {
		return "", err
	}
	if n == 0 {
		return "none held", nil
	}
	var ended events.Cancelled
	if e.UnmarshalData(&ended) == nil { // else the mirror finds out by itself
		c.tellMirror(ctx, func(m Mirror) { m.Freed(ended.ScheduleID, e.AggregateID, ended.SeatIDs) })
	}
	return "released", nil
}

func (c *Catalog) move(ctx context.Context, tx *sql.Tx, statement, reservation string) (int64, error) {
	res, err := tx.ExecContext(ctx, statement, reservation)
	if err != nil {
		return 0, fmt.Errorf("catalog: seats of %s: %w", reservation, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("catalog: seats of %s: %w", reservation, err)
	}
	if n > 0 {
		c.afterCommit(ctx)
	}
	return n, nil
}
