package payment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/sqltx"
)

// Refunds give payments back.
type Refunds struct{ *desk }

// RequestRefund requests a payment's refund, inside tx. It does nothing when the
// refund was requested before, or the payment did not succeed.
func (r *Refunds) RequestRefund(ctx context.Context, tx *sql.Tx, paymentID, reason string) error {
	correlation, causation := events.Causes(ctx)
	res, err := tx.ExecContext(ctx, r.sql.RequestRefund, paymentID, reason, correlation, causation)
	if err != nil {
		return fmt.Errorf("payment: request the refund of %s: %w", paymentID, err)
	}
	if n, err := res.RowsAffected(); err != nil {
		return fmt.Errorf("payment: request the refund of %s: %w", paymentID, err)
	} else if n > 0 {
		sqltx.AfterCommit(ctx, r.due.Wake)
	}
	return nil
}

// Refund is the member's wish to give a ticket back. Asking again is harmless.
// Errors: ErrNotFound, a *NotRefundableError, booking.ErrHandedOn,
// booking.ErrUsed.
func (r *Refunds) Refund(ctx context.Context, member, id string) (Payment, error) {
	err := r.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		x, err := r.get(ctx, tx, member, id)
		if err != nil {
			return err
		}
		if x.Type != events.ForReservation {
			return &NotRefundableError{x.Type, x.Status}
		}
		// The reservation's lock comes first: a transfer may be completing.
		row, err := r.bookings.Lock(ctx, tx, x.ReservationID)
		if err != nil && !errors.Is(err, booking.ErrNotFound) {
			return err
		}
		if x, err = r.get(ctx, tx, member, id); err != nil {
			return err
		}
		switch {
		case x.Status == Refunded || x.RefundState != "NONE":
			return nil
		case x.Status != Success:
			return &NotRefundableError{x.Type, x.Status}
		case row.Transferred:
			return booking.ErrHandedOn
		case row.Used:
			return booking.ErrUsed
		}
		return r.RequestRefund(ctx, tx, id, booking.UserRequest)
	})
	if err != nil {
		return Payment{}, err
	}
	return r.get(ctx, r.store.Reader(), member, id)
}
