package catalog

import (
	"context"
	"database/sql"
	"fmt"

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
	return "sold", nil
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
