package payment

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// Why a payment failed without the card being declined.
const (
	GatewayRefused = "GATEWAY_REFUSED" // the gateway does not take the request
	KeyConflict    = "KEY_CONFLICT"    // the gateway knows the key from another request
)

// maxColumn bounds the texts of a charge in bytes: with an ellipsis they fit a column.
const maxColumn = 120

var errOpen = errors.New("payment: the gateway has not decided yet")

// charge finds out the outcome of a charge and writes it. An error means that the
// outcome is not known yet.
func (x *Executor) charge(ctx context.Context, c claimed) error {
	var charge Charge
	err := errNoCharge
	if c.attempts > 1 {
		// An earlier attempt may have reached the gateway, whatever answer it received.
		charge, err = x.gateway.find(ctx, c.key)
	}
	reference := c.typ + ":" + c.reference
	if errors.Is(err, errNoCharge) {
		charge, err = x.gateway.charge(ctx, c.key, c.amount, cards()[c.card], reference)
	}
	var refused *refusedError
	if errors.As(err, &refused) && refused.code == 409 {
		// The key has another charge, or one that the gateway has not decided yet.
		charge, err = x.gateway.find(ctx, c.key)
	}
	switch {
	case err == nil && (charge.Amount != c.amount || charge.Reference != reference):
		x.cfg.Logger.Error("the gateway knows a payment key from another request", "payment", c.id, "charge", charge.ID)
		return x.fail(ctx, c, Charge{Reason: KeyConflict})
	case errors.As(err, &refused):
		x.cfg.Logger.Error("the gateway refuses a charge", "payment", c.id, "error", err)
		return x.fail(ctx, c, Charge{Reason: GatewayRefused})
	case err != nil:
		return err
	}
	charge.ID, charge.Reason = store.Clip(charge.ID, maxColumn), store.Clip(charge.Reason, maxColumn)
	switch charge.Status {
	case "APPROVED":
		return x.succeed(ctx, c, charge)
	case "DECLINED":
		return x.fail(ctx, c, charge)
	case "PENDING":
		return errOpen
	}
	return fmt.Errorf("payment: the gateway's status %q is unknown", charge.Status)
}

func (x *Executor) succeed(ctx context.Context, c claimed, charge Charge) error {
	moved, err := x.settle(ctx, c, x.p.sql.Succeed, []any{c.id, charge.ID}, func(at int64) (string, any) {
		return events.PaymentSuccess, events.Paid{
			PaymentID: c.id, PaymentKey: c.key, ReservationID: c.reservation, Amount: c.amount, PaidAt: events.Time(at),
			PortoneTransactionID: charge.ID, PaymentType: c.typ, SagaID: c.reference,
		}
	})
	if moved {
		x.approved.Add(1)
	}
	return err
}

func (x *Executor) fail(ctx context.Context, c claimed, charge Charge) error {
	id := sql.NullString{String: charge.ID, Valid: charge.ID != ""}
	moved, err := x.settle(ctx, c, x.p.sql.Fail, []any{c.id, id, charge.Reason}, func(at int64) (string, any) {
		return events.PaymentFailed, events.NotPaid{
			PaymentID: c.id, PaymentKey: c.key, ReservationID: c.reservation, Amount: c.amount,
			FailureReason: charge.Reason, FailedAt: events.Time(at), PaymentType: c.typ, SagaID: c.reference,
		}
	})
	if moved {
		x.declined.Add(1)
	}
	return err
}

func (x *Executor) refund(ctx context.Context, c claimed) error {
	charge, err := x.gateway.refund(ctx, c.key)
	if err != nil {
		return err
	}
	if !charge.Refunded {
		return errOpen
	}
	moved, err := x.settle(ctx, c, x.p.sql.Refunded, []any{c.id}, func(at int64) (string, any) {
		return events.PaymentRefunded, events.PaidBack{
			PaymentID: c.id, PaymentKey: c.key, ReservationID: c.reservation, Amount: c.amount, Reason: c.refundReason,
			RefundedAt: events.Time(at), PortoneTransactionID: c.gatewayID, PaymentType: c.typ, SagaID: c.reference,
		}
	})
	if moved {
		x.refunded.Add(1)
	}
	return err
}

// settle moves the payment by one of the conditional updates and appends the
// event of that move, in one transaction. It reports whether the payment moved:
// another holder may have been faster, and then has appended the event.
func (x *Executor) settle(ctx context.Context, c claimed, statement string, args []any, about func(at int64) (string, any)) (moved bool, err error) {
	err = x.p.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		moved = false
		var at int64
		err := x.p.store.Update(ctx, tx, statement, args, &at)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("payment: settle %s: %w", c.id, err)
		}
		typ, data := about(at)
		e, err := events.New(typ, "payment", c.id, c.member, true, data)
		if err != nil {
			return err
		}
		// Payments of an earlier release have no correlation id: their reference is used.
		e.CorrelationID, e.CausationID = cmp.Or(c.correlation, c.reference), c.causation
		moved = true
		return x.p.outbox.Append(ctx, tx, e)
	})
	return moved && err == nil, err
}
