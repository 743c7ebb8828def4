package payment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/fault"
)

// membershipLasts is the duration of a membership for MembershipPrice.
const membershipLasts = 365 * 24 * time.Hour

// maxMemberships bounds a member's list; the newest come first.
const maxMemberships = 100

// Membership is a year's membership of the house. Its JSON is what clients see.
type Membership struct {
	ID            string    `json:"membershipId"`
	PaymentID     string    `json:"paymentId"`
	Amount        int64     `json:"amount"`
	Status        string    `json:"status"`                  // PENDING, ACTIVE, CANCELLED
	FailureReason string    `json:"failureReason,omitempty"` // of the payment
	CreatedAt     time.Time `json:"createdAt"`
	ActivatedAt   time.Time `json:"activatedAt,omitzero"` // zero unless ACTIVE, as the next
	ExpiresAt     time.Time `json:"expiresAt,omitzero"`
}

// Club has the memberships.
type Club struct{ *desk }

// write writes a membership that begins when it is paid.
func (c *Club) write(ctx context.Context, tx *sql.Tx, id, paymentID string, r Request) error {
	_, err := tx.ExecContext(ctx, c.sql.InsertMembership, id, paymentID, r.Member, r.Amount)
	return err
}

// IsMember says whether a member has a membership of the house that is active.
func (c *Club) IsMember(ctx context.Context, member string) (is bool, err error) {
	if err := c.store.Reader().QueryRowContext(ctx, c.sql.IsMember, member).Scan(&is); err != nil {
		return false, fmt.Errorf("payment: membership of a member: %w", err)
	}
	return is, nil
}

// Memberships returns the member's newest memberships, at most 100.
func (c *Club) Memberships(ctx context.Context, member string) ([]Membership, error) {
	list, err := store.List(ctx, c.store.Reader(), c.sql.MembershipsOf, []any{member, maxMemberships}, func(row *sql.Rows) (Membership, error) {
		var m Membership
		var created, activated, expires int64
		err := row.Scan(&m.ID, &m.PaymentID, &m.Amount, &m.Status, &created, &activated, &expires, &m.FailureReason)
		m.CreatedAt = events.Time(created)
		if activated > 0 {
			m.ActivatedAt, m.ExpiresAt = events.Time(activated), events.Time(expires)
		}
		return m, err
	})
	if err != nil {
		return nil, fmt.Errorf("payment: list memberships: %w", err)
	}
	return list, nil
}

func (c *Club) membershipOf(ctx context.Context, tx *sql.Tx, paymentID string) (events.Activated, error) {
	var m events.Activated
	err := tx.QueryRowContext(ctx, c.sql.MembershipOf, paymentID).Scan(&m.MembershipID, &m.MemberID, &m.Amount)
	if errors.Is(err, sql.ErrNoRows) {
		return m, fault.MarkPermanent(fmt.Errorf("payment: %s pays for no membership", paymentID))
	}
	if err != nil {
		return m, fmt.Errorf("payment: membership of %s: %w", paymentID, err)
	}
	return m, nil
}

// cancel ends a membership whose payment failed.
func (c *Club) cancel(ctx context.Context, tx *sql.Tx, failed events.NotPaid) (string, error) {
	m, err := c.membershipOf(ctx, tx, failed.PaymentID)
	if err != nil {
		return "", err
	}
	if _, err := tx.ExecContext(ctx, c.sql.CancelMembership, m.MembershipID); err != nil {
		return "", fmt.Errorf("payment: cancel the membership %s: %w", m.MembershipID, err)
	}
	return "cancelled", nil
}

func (c *Club) activate(ctx context.Context, tx *sql.Tx, e event.Event, paid events.Paid) (string, error) {
	m, err := c.membershipOf(ctx, tx, paid.PaymentID)
	if err != nil {
		return "", err
	}
	var from, until int64
	err = c.store.Update(ctx, tx, c.sql.Activate, []any{m.MembershipID, membershipLasts.Milliseconds()}, &from, &until)
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
	return "activated", c.outbox.Append(ctx, tx, done.CausedBy(e))
}
