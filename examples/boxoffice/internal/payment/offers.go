package payment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/fault"
)

// check returns why this member may not transfer this ticket now, or nil. A
// ticket is transferred at its price.
func (o *Offers) check(ctx context.Context, tx *sql.Tx, r Request) error {
	row, err := o.own(ctx, tx, r)
	if err != nil {
		return err
	}
	if r.ToMember == r.Member {
		return ErrSelfTransfer
	}
	refused, err := o.transferable(ctx, tx, r.ReservationID, row)
	if err != nil {
		return err
	}
	if refused != nil {
		return refused
	}
	if r.Amount != row.Amount {
		return &AmountError{Got: r.Amount, Expected: row.Amount}
	}
	var pending string
	err = tx.QueryRowContext(ctx, o.sql.PendingTransfer, r.ReservationID).Scan(&pending)
	if err == nil {
		return ErrTransferring
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("payment: look for a transfer: %w", err)
	}
	return nil
}

// transferable returns why a ticket can't be transferred now, or nil.
func (o *Offers) transferable(ctx context.Context, tx *sql.Tx, reservation string, row booking.Row) (refused, err error) {
	if row.Status != booking.Confirmed {
		return &NotConfirmedError{row.Status}, nil
	}
	if row.Used {
		return booking.ErrUsed, nil
	}
	var refund string
	if err := tx.QueryRowContext(ctx, o.sql.RefundOfReservation, reservation).Scan(&refund); err != nil {
		return nil, fmt.Errorf("payment: look for a refund: %w", err)
	}
	if refund != "NONE" {
		return ErrRefunding, nil
	}
	return nil, nil
}

// write writes a transfer for the receiver to accept, and notifies the receiver.
func (o *Offers) write(ctx context.Context, tx *sql.Tx, id, paymentID string, r Request) error {
	if _, err := tx.ExecContext(ctx, o.sql.InsertTransfer, id, paymentID, r.ReservationID, r.Member, r.ToMember, r.Amount); err != nil {
		return err
	}
	t, err := o.transferOf(ctx, tx, paymentID)
	if err != nil {
		return err
	}
	notices, err := o.notices(ctx, tx, t, events.TransferOffered, t.CreatedAt.UnixMilli(), t.To)
	if err != nil {
		return err
	}
	return o.outbox.Append(ctx, tx, notices...)
}

// handOn completes a transfer, or refunds it when the ticket can no longer be
// transferred, or the receiver never agreed.
func (o *Offers) handOn(ctx context.Context, tx *sql.Tx, e event.Event, paid events.Paid) (string, error) {
	t, err := o.transferOf(ctx, tx, paid.PaymentID)
	if err != nil {
		return "", err
	}
	if _, err := o.bookings.Lock(ctx, tx, t.ReservationID); err != nil {
		return "", err
	}
	var n int64
	switch t.Status {
	case Completed:
		return "already transferred", nil
	case Accepted:
		res, err := tx.ExecContext(ctx, o.sql.HandOn, t.ReservationID, t.From, t.To)
		if err != nil {
			return "", fmt.Errorf("payment: hand on %s: %w", t.ReservationID, err)
		}
		if n, err = res.RowsAffected(); err != nil {
			return "", fmt.Errorf("payment: hand on %s: %w", t.ReservationID, err)
		}
	}
	if n == 1 {
		return "transferred", o.settle(ctx, tx, e, t, events.TransferCompleted, "")
	}
	if err := o.refunds.RequestRefund(ctx, tx, paid.PaymentID, booking.Late); err != nil {
		return "", err
	}
	return "late", o.settle(ctx, tx, e, t, events.TransferCancelled, booking.Late)
}

// cancel ends a transfer whose payment failed.
func (o *Offers) cancel(ctx context.Context, tx *sql.Tx, e event.Event, failed events.NotPaid) (string, error) {
	t, err := o.transferOf(ctx, tx, failed.PaymentID)
	if err != nil {
		return "", err
	}
	return "cancelled", o.settle(ctx, tx, e, t, events.TransferCancelled, booking.PaymentFailed)
}

func (o *Offers) transferOf(ctx context.Context, tx *sql.Tx, paymentID string) (Transfer, error) {
	t, err := scanTransfer(tx.QueryRowContext(ctx, o.sql.TransferOf, paymentID))
	if errors.Is(err, sql.ErrNoRows) {
		return t, fault.MarkPermanent(fmt.Errorf("payment: %s pays for no transfer", paymentID))
	}
	if err != nil {
		return t, fmt.Errorf("payment: transfer of %s: %w", paymentID, err)
	}
	return t, nil
}

// settle settles a transfer after its payment.
func (o *Offers) settle(ctx context.Context, tx *sql.Tx, cause event.Event, t Transfer, typ, reason string) error {
	status, stored, outcome := Completed, sql.NullString{String: reason, Valid: reason != ""}, events.TransferDone
	if typ == events.TransferCancelled {
		status, outcome = Cancelled, events.TransferFailed
	}
	var at int64
	err := o.store.Update(ctx, tx, o.sql.EndTransfer, []any{t.ID, status, stored}, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // it had ended before
	}
	if err != nil {
		return fmt.Errorf("payment: end the transfer %s: %w", t.ID, err)
	}
	e, err := t.event(typ, reason, at)
	if err != nil {
		return err
	}
	all, err := o.notices(ctx, tx, t, outcome, at, t.From, t.To)
	if err != nil {
		return err
	}
	all = append(all, e)
	for i := range all {
		all[i] = all[i].CausedBy(cause)
	}
	return o.outbox.Append(ctx, tx, all...)
}
