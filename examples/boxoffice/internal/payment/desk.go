package payment

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

//go:embed sql/payment.sql
var paymentSQL string

type statements struct {
	ByKey, Insert, OfReservation, ByID, RequestRefund, RefundOfReservation string
	NextDue, Due, Claim, Reclaim, Postpone, Succeed, Fail, Refunded        string
	InsertTransfer, TransferOf, Transfer, LockTransfer, TransfersOf        string
	SeatsOfTransfers, SeatsOf, PendingTransfer, AcceptTransfer, EndOffer   string
	ChargeNow, HandOn, EndTransfer                                         string
	InsertMembership, MembershipOf, Activate, CancelMembership             string
	MembershipsOf, IsMember                                                string
}

// desk is what the parts of Payments share: the tables, the bookings and the outbox.
type desk struct {
	store    *store.Store
	bookings Reservations
	outbox   store.Appender
	sql      statements
	due      signal.Signal // something for the executor to do
}

// own locks the request's reservation; another member's counts as unknown.
func (d *desk) own(ctx context.Context, tx *sql.Tx, r Request) (booking.Row, error) {
	row, err := d.bookings.Lock(ctx, tx, r.ReservationID)
	if err != nil {
		return booking.Row{}, err
	}
	if row.MemberID != r.Member {
		return booking.Row{}, booking.ErrNotFound
	}
	return row, nil
}

func (d *desk) get(ctx context.Context, db store.RowQuerier, member, id string) (Payment, error) {
	var x Payment
	var created int64
	err := db.QueryRowContext(ctx, d.sql.ByID, id, member).Scan(&x.ID, &x.Key, &x.MemberID, &x.Type, &x.ReferenceID,
		&x.ReservationID, &x.Amount, &x.CardLast4, &x.Status, &x.FailureReason, &x.RefundState, &x.RefundReason, &created)
	if errors.Is(err, sql.ErrNoRows) {
		return Payment{}, ErrNotFound
	}
	if err != nil {
		return Payment{}, fmt.Errorf("payment: read %s: %w", id, err)
	}
	x.CreatedAt = events.Time(created)
	return x, nil
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }
