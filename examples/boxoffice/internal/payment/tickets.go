package payment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/fault"
)

// membershipLasts is the duration of a membership for MembershipPrice.
const membershipLasts = 365 * 24 * time.Hour

// Consumers is the group that completes transfers and memberships after their
// payments.
func (p *Payments) Consumers() []store.Consumer {
	return []store.Consumer{{Topic: events.Payments, Group: events.GroupTickets, Handlers: map[string]store.Handler{
		events.PaymentSuccess: p.paid,
		events.PaymentFailed:  p.notPaid,
	}}}
}

// checkTransfer returns why this member may not transfer this ticket now, or nil. A
// ticket is transferred at its price.
func (p *Payments) checkTransfer(ctx context.Context, tx *sql.Tx, r Request) error {
	row, err := p.own(ctx, tx, r)
	if err != nil {
		return err
	}
	if r.ToMember == r.Member {
		return ErrSelfTransfer
	}
	refused, err := p.transferable(ctx, tx, r.ReservationID, row)
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
	err = tx.QueryRowContext(ctx, p.sql.PendingTransfer, r.ReservationID).Scan(&pending)
	if err == nil {
		return ErrTransferring
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("payment: look for a transfer: %w", err)
	}
	return nil
}

// transferable returns why a ticket can't be transferred now, or nil.
func (p *Payments) transferable(ctx context.Context, tx *sql.Tx, reservation string, row booking.Row) (refused, err error) {
	if row.Status != booking.Confirmed {
		return &NotConfirmedError{row.Status}, nil
	}
	if row.Used {
		return booking.ErrUsed, nil
	}
	var refund string
	if err := tx.QueryRowContext(ctx, p.sql.RefundOfReservation, reservation).Scan(&refund); err != nil {
		return nil, fmt.Errorf("payment: look for a refund: %w", err)
	}
	if refund != "NONE" {
		return ErrRefunding, nil
	}
	return nil, nil
}

// offer writes a transfer for the receiver to accept, and notifies the receiver.
func (p *Payments) offer(ctx context.Context, tx *sql.Tx, id, paymentID string, r Request) error {
	if _, err := tx.ExecContext(ctx, p.sql.InsertTransfer, id, paymentID, r.ReservationID, r.Member, r.ToMember, r.Amount); err != nil {
		return err
	}
	t, err := p.transferOf(ctx, tx, paymentID)
	if err != nil {
		return err
	}
	notices, err := p.notices(ctx, tx, t, events.TransferOffered, t.CreatedAt.UnixMilli(), t.To)
	if err != nil {
		return err
	}
	return p.outbox.Append(ctx, tx, notices...)
}

func (p *Payments) paid(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
	var paid events.Paid
	if err := e.UnmarshalData(&paid); err != nil {
		return "", fault.MarkPermanent(err)
	}
	switch paid.PaymentType {
	case events.ForTransfer:
		return p.handOn(ctx, tx, e, paid)
	case events.ForMembership:
		return p.activate(ctx, tx, e, paid)
	}
	return "not a ticket", nil
}

func (p *Payments) notPaid(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
	var failed events.NotPaid
	if err := e.UnmarshalData(&failed); err != nil {
		return "", fault.MarkPermanent(err)
	}
	switch failed.PaymentType {
	case events.ForTransfer:
		t, err := p.transferOf(ctx, tx, failed.PaymentID)
		if err != nil {
			return "", err
		}
		return "cancelled", p.endTransfer(ctx, tx, e, t, events.TransferCancelled, booking.PaymentFailed)
	case events.ForMembership:
		m, err := p.membershipOf(ctx, tx, failed.PaymentID)
		if err != nil {
			return "", err
		}
		if _, err := tx.ExecContext(ctx, p.sql.CancelMembership, m.MembershipID); err != nil {
			return "", fmt.Errorf("payment: cancel the membership %s: %w", m.MembershipID, err)
		}
		return "cancelled", nil
	}
	return "not a ticket", nil
}

// handOn completes a transfer, or refunds it when the ticket can no longer be
// transferred, or the receiver never agreed.
func (p *Payments) handOn(ctx context.Context, tx *sql.Tx, e event.Event, paid events.Paid) (string, error) {
	t, err := p.transferOf(ctx, tx, paid.PaymentID)
	if err != nil {
		return "", err
	}
	if _, err := p.bookings.Lock(ctx, tx, t.ReservationID); err != nil {
		return "", err
	}
	var n int64
	if t.Status == Accepted {
		res, err := tx.ExecContext(ctx, p.sql.HandOn, t.ReservationID, t.From, t.To)
		if err != nil {
			return "", fmt.Errorf("payment: hand on %s: %w", t.ReservationID, err)
		}
		if n, err = res.RowsAffected(); err != nil {
			return "", fmt.Errorf("payment: hand on %s: %w", t.ReservationID, err)
		}
	}
	if n == 1 {
		return "transferred", p.endTransfer(ctx, tx, e, t, events.TransferCompleted, "")
	}
	if err := p.RequestRefund(ctx, tx, paid.PaymentID, booking.Late); err != nil {
		return "", err
	}
	return "late", p.endTransfer(ctx, tx, e, t, events.TransferCancelled, booking.Late)
}

func (p *Payments) transferOf(ctx context.Context, tx *sql.Tx, paymentID string) (Transfer, error) {
	t, err := scanTransfer(tx.QueryRowContext(ctx, p.sql.TransferOf, paymentID))
	if errors.Is(err, sql.ErrNoRows) {
		return t, fault.MarkPermanent(fmt.Errorf("payment: %s pays for no transfer", paymentID))
	}
	if err != nil {
		return t, fmt.Errorf("payment: transfer of %s: %w", paymentID, err)
	}
	return t, nil
}

// endTransfer settles a transfer after its payment.
func (p *Payments) endTransfer(ctx context.Context, tx *sql.Tx, cause event.Event, t Transfer, typ, reason string) error {
	status, stored, outcome := Completed, sql.NullString{String: reason, Valid: reason != ""}, events.TransferDone
	if typ == events.TransferCancelled {
		status, outcome = Cancelled, events.TransferFailed
	}
	var at int64
	err := p.store.Update(ctx, tx, p.sql.EndTransfer, []any{t.ID, status, stored}, &at)
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
	all, err := p.notices(ctx, tx, t, outcome, at, t.From, t.To)
	if err != nil {
		return err
	}
	all = append(all, e)
	for i := range all {
		all[i] = all[i].CausedBy(cause)
	}
	return p.outbox.Append(ctx, tx, all...)
}

// event is the event of a transfer's end.
func (t Transfer) event(typ, reason string, at int64) (event.Event, error) {
	return events.New(typ, "transfer", t.ID, t.From, false, events.Transferred{
		TransferID: t.ID, ReservationID: t.ReservationID, FromMemberID: t.From, ToMemberID: t.To, Amount: t.Amount,
		Reason: reason, SettledAt: events.Time(at),
	})
}

func (p *Payments) membershipOf(ctx context.Context, tx *sql.Tx, paymentID string) (events.Activated, error) {
	var m events.Activated
	err := tx.QueryRowContext(ctx, p.sql.MembershipOf, paymentID).Scan(&m.MembershipID, &m.MemberID, &m.Amount)
	if errors.Is(err, sql.ErrNoRows) {
		return m, fault.MarkPermanent(fmt.Errorf("payment: %s pays for no membership", paymentID))
	}
	if err != nil {
		return m, fmt.Errorf("payment: membership of %s: %w", paymentID, err)
	}
	return m, nil
}

func (p *Payments) activate(ctx context.Context, tx *sql.Tx, e event.Event, paid events.Paid) (string, error) {
	m, err := p.membershipOf(ctx, tx, paid.PaymentID)
	if err != nil {
		return "", err
	}
	var from, until int64
	err = p.store.Update(ctx, tx, p.sql.Activate, []any{m.MembershipID, membershipLasts.Milliseconds()}, &from, &until)
	if errors.Is(err, sql.ErrNoRows) {
		return "already ended", nil
	}
	if err != nil {
		return "", fmt.Errorf("payment: activate %s: %w", m.MembershipID, err)
	}
	m.ActivatedAt, m.ExpiresAt = events.Time(from), events.Time(until)
	done, err := events.New(events.MembershipActivated, "membership", m.MembershipID, m.MemberID, false, m)
	if err != nil {
		return "", err
	}
	return "activated", p.outbox.Append(ctx, tx, done.CausedBy(e))
}
