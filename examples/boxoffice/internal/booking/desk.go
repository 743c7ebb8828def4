package booking

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

//go:embed sql/booking.sql
var bookingSQL string

type statements struct {
	Deadline, LockMember, Allowance, Insert                                 string
	ByID, ByMember, SeatsOf, SeatsOfMember, Lock                            string
	Confirm, CancelPending, CancelRefunded, NextDue, Overdue, CancelOverdue string
}

// desk is what the parts of a Booking share.
type desk struct {
	store   *store.Store
	catalog *catalog.Catalog
	outbox  store.Appender
	refunds Refunder
	cfg     Config
	sql     statements
}

// cancel runs one of the conditional updates and, if it moved the reservation,
// appends ReservationCancelled. The event is a child of parent when that has an id.
// It reports whether the reservation was moved.
func (d *desk) cancel(ctx context.Context, tx *sql.Tx, id, statement string, args []any, reason string, parent event.Event) (bool, error) {
	var show, member, request string
	var at int64
	err := d.store.Update(ctx, tx, statement, args, &show, &member, &at, &request)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("booking: cancel %s: %w", id, err)
	}
	seats, err := d.seatsOf(ctx, tx, id)
	if err != nil {
		return false, err
	}
	e, err := events.New(events.ReservationCancelled, "reservation", id, member, true, events.Cancelled{
		ScheduleID: show, SeatIDs: seats, CancelledAt: events.Time(at), Reason: reason,
	})
	if err != nil {
		return false, err
	}
	notice, err := d.notice(ctx, tx, id, show, member, seats, events.OutcomeCancelled, reason, at)
	if err != nil {
		return false, err
	}
	switch {
	case parent.ID != "":
		e, notice = e.CausedBy(parent), notice.CausedBy(parent)
	case event.Correlation(ctx) == "": // a timer's: it came of the request that reserved
		request = cmp.Or(request, id) // of a release that did not note it
		e.CorrelationID, notice.CorrelationID = request, request
	}
	return true, d.outbox.Append(ctx, tx, e, notice)
}

// seatsOf are the seats of a reservation.
func (d *desk) seatsOf(ctx context.Context, db store.Querier, id string) ([]string, error) {
	seats, err := store.Column(ctx, db, d.sql.SeatsOf, id)
	if err != nil {
		return nil, fmt.Errorf("booking: seats of %s: %w", id, err)
	}
	return seats, nil
}

// Row is a reservation as a transaction finds it after taking its row lock.
type Row struct {
	ShowID, MemberID string
	Status, Reason   string
	Amount           int64
	HoldOver         bool   // the hold's time is over, in any status
	PaymentID        string // of the payment that confirmed it
	Transferred      bool
	Used             bool // a seat of it was scanned at the door
}

// Lock reads a reservation inside tx and keeps others from changing it until
// tx ends. It returns ErrNotFound.
func (d *desk) Lock(ctx context.Context, tx *sql.Tx, id string) (Row, error) {
	var r Row
	var expires, transferred, used int64
	err := tx.QueryRowContext(ctx, d.sql.Lock, id).Scan(&r.ShowID, &r.MemberID, &r.Status, &r.Reason, &r.Amount,
		&expires, &r.HoldOver, &r.PaymentID, &transferred, &used)
	if errors.Is(err, sql.ErrNoRows) {
		return Row{}, ErrNotFound
	}
	if err != nil {
		return Row{}, fmt.Errorf("booking: lock %s: %w", id, err)
	}
	r.Transferred, r.Used = transferred > 0, used > 0
	return r, nil
}
