package booking

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/fault"
)

// Outcomes are what comes of payments for reservations.
type Outcomes struct{ *desk }

// Consumers is the group that moves reservations after payments.
func (o *Outcomes) Consumers() []store.Consumer {
	return []store.Consumer{{Topic: events.Payments, Group: events.GroupReservation, Handlers: map[string]store.Handler{
		events.PaymentSuccess:  o.confirm,
		events.PaymentFailed:   o.fail,
		events.PaymentRefunded: o.refunded,
	}}}
}

func (o *Outcomes) confirm(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
	var paid events.Paid
	if err := e.UnmarshalData(&paid); err != nil {
		return "", fault.MarkPermanent(err)
	}
	if paid.PaymentType != events.ForReservation {
		return "not a reservation", nil
	}
	var show, member string
	var at int64
	err := o.store.Update(ctx, tx, o.sql.Confirm, []any{paid.ReservationID, paid.PaymentID}, &show, &member, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return o.tooLate(ctx, tx, paid)
	}
	if err != nil {
		return "", fmt.Errorf("booking: confirm %s: %w", paid.ReservationID, err)
	}
	seats, err := o.seatsOf(ctx, tx, paid.ReservationID)
	if err != nil {
		return "", err
	}
	done, err := events.New(events.ReservationConfirmed, "reservation", paid.ReservationID, member, true, events.Confirmed{
		ScheduleID: show, SeatIDs: seats, PaymentID: paid.PaymentID, ConfirmedAt: events.Time(at),
	})
	if err != nil {
		return "", err
	}
	order, err := events.New(events.OrderCompleted, "order", show, member, false, events.Ordered{
		ReservationID: paid.ReservationID, Seats: len(seats), Amount: paid.Amount, OrderedAt: events.Time(at),
	})
	if err != nil {
		return "", err
	}
	notice, err := o.notice(ctx, tx, paid.ReservationID, show, member, seats, events.OutcomeConfirmed, "", at)
	if err != nil {
		return "", err
	}
	return "confirmed", o.outbox.Append(ctx, tx, done.CausedBy(e), order.CausedBy(e), notice.CausedBy(e))
}

// tooLate refunds a payment for a reservation that is no longer waiting for it.
func (o *Outcomes) tooLate(ctx context.Context, tx *sql.Tx, paid events.Paid) (string, error) {
	row, err := o.Lock(ctx, tx, paid.ReservationID)
	if errors.Is(err, ErrNotFound) {
		return "", fault.MarkPermanent(fmt.Errorf("%w: %s", err, paid.ReservationID))
	}
	if err != nil {
		return "", err
	}
	if row.Status == Confirmed && row.PaymentID == paid.PaymentID {
		return "already confirmed", nil
	}
	return "late", o.refunds.RequestRefund(ctx, tx, paid.PaymentID, Late)
}

func (o *Outcomes) fail(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
	var failed events.NotPaid
	if err := e.UnmarshalData(&failed); err != nil {
		return "", fault.MarkPermanent(err)
	}
	if failed.PaymentType != events.ForReservation {
		return "not a reservation", nil
	}
	return o.end(ctx, tx, e, failed.ReservationID, o.sql.CancelPending, []any{failed.ReservationID, PaymentFailed}, PaymentFailed)
}

func (o *Outcomes) refunded(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
	var back events.PaidBack
	if err := e.UnmarshalData(&back); err != nil {
		return "", fault.MarkPermanent(err)
	}
	if back.PaymentType != events.ForReservation {
		return "not a reservation", nil
	}
	effect, err := o.end(ctx, tx, e, back.ReservationID, o.sql.CancelRefunded, []any{back.ReservationID, back.PaymentID}, Refunded)
	if err == nil && effect == alreadyEnded && back.Reason == Late {
		err = o.tellLate(ctx, tx, e, back)
	}
	return effect, err
}

// alreadyEnded is the effect of an event about a reservation that ended before.
const alreadyEnded = "already ended"

func (o *Outcomes) end(ctx context.Context, tx *sql.Tx, e event.Event, id, statement string, args []any, reason string) (string, error) {
	moved, err := o.cancel(ctx, tx, id, statement, args, reason, e)
	if err != nil {
		return "", err
	}
	if moved {
		return "cancelled", nil
	}
	if _, err := o.Lock(ctx, tx, id); errors.Is(err, ErrNotFound) {
		return "", fault.MarkPermanent(fmt.Errorf("%w: %s", err, id))
	} else if err != nil {
		return "", err
	}
	return alreadyEnded, nil
}

// tellLate notifies the member of a refund of money that was paid after the
// reservation had ended. The member was notified of the end before.
func (o *Outcomes) tellLate(ctx context.Context, tx *sql.Tx, e event.Event, back events.PaidBack) error {
	row, err := o.Lock(ctx, tx, back.ReservationID)
	if err != nil {
		return err
	}
	seats, err := o.seatsOf(ctx, tx, back.ReservationID)
	if err != nil {
		return err
	}
	notice, err := o.notice(ctx, tx, back.ReservationID, row.ShowID, row.MemberID, seats, events.OutcomeRefunded, Late, back.RefundedAt.UnixMilli())
	if err != nil {
		return err
	}
	return o.outbox.Append(ctx, tx, notice.CausedBy(e))
}
