package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/sse"
)

// handle registers the handlers of the events: each group handles each event once.
func (s *shop) handle() {
	millrace.HandleOutside(s.app, "payments", s.charge)
	millrace.Handle(s.app, "tickets", s.issue)
	// The page shows each change at once. A repeated message is harmless.
	millrace.HandleOutside(s.app, "live", func(ctx context.Context, e Held) error { return s.show(ctx, e.Seat, "held") })
	millrace.HandleOutside(s.app, "live", func(ctx context.Context, e Freed) error { return s.show(ctx, e.Seat, "free") })
	millrace.HandleOutside(s.app, "live", func(ctx context.Context, e PaymentAsked) error { return s.show(ctx, e.Seat, "paying") })
	millrace.HandleOutside(s.app, "live", func(ctx context.Context, e Issued) error { return s.show(ctx, e.Seat, "sold") })
}

// charge charges the card. If this process dies after the charge, the event is delivered
// again: its id is the provider's idempotency key, so the card is charged once.
func (s *shop) charge(ctx context.Context, e PaymentAsked) error {
	err := s.provider.Charge(ctx, millrace.Meta(ctx).ID, e.Card, e.Cents)
	if err != nil && !errors.Is(err, errDeclined) {
		return err // it is tried again
	}
	state := "paid"
	if err != nil {
		state = "declined"
	}
	return s.app.Do(ctx, func(ctx context.Context, tx *sql.Tx) error {
		err := changed(tx.ExecContext(ctx, `UPDATE orders SET state = $1 WHERE id = $2 AND state = 'asked'`, state, e.Order))
		switch {
		case errors.Is(err, errTaken):
			return nil // noted before
		case err != nil:
			return err
		case state == "declined":
			return s.freeIn(ctx, tx, `id = $1 AND buyer = $2 AND state = 'paying'`, e.Seat, e.Buyer)
		}
		return s.app.Emit(ctx, tx, Paid{e.Order, e.Seat, e.Buyer})
	})
}

// issue sells the seat and makes its ticket, in the transaction that notes the event.
func (s *shop) issue(ctx context.Context, tx *sql.Tx, e Paid) error {
	if err := changed(tx.ExecContext(ctx, `UPDATE seats SET state = 'sold' WHERE id = $1 AND buyer = $2 AND state = 'paying'`, e.Seat, e.Buyer)); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO tickets (seat, order_id, buyer) VALUES ($1, $2, $3)`, e.Seat, e.Order, e.Buyer); err != nil {
		return err
	}
	return s.app.Emit(ctx, tx, Issued{e.Seat, e.Buyer})
}

// show sends the state of a seat to all pages.
func (s *shop) show(ctx context.Context, seat, state string) error {
	data, err := json.Marshal(Seat{ID: seat, State: state})
	if err != nil {
		return err
	}
	return s.hub.ToRoom(ctx, showID, sse.Event{Name: "seat", Data: data})
}
