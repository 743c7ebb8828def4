package payment

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

// maxMemberships bounds a member's list; the newest come first.
const maxMemberships = 100

// Membership is a year's membership of the house.
type Membership struct {
	ID, PaymentID          string
	Amount                 int64
	Status                 string // PENDING, ACTIVE, CANCELLED
	FailureReason          string // of the payment
	CreatedAt              time.Time
	ActivatedAt, ExpiresAt time.Time // zero unless ACTIVE
}

// IsMember says whether a member has a membership of the house that is active.
func (p *Payments) IsMember(ctx context.Context, member string) (is bool, err error) {
	if err := p.store.Reader().QueryRowContext(ctx, p.sql.IsMember, member).Scan(&is); err != nil {
		return false, fmt.Errorf("payment: membership of a member: %w", err)
	}
	return is, nil
}

// Memberships returns the member's newest memberships, at most 100.
func (p *Payments) Memberships(ctx context.Context, member string) ([]Membership, error) {
	rows, err := p.store.Reader().QueryContext(ctx, p.sql.MembershipsOf, member, maxMemberships)
	if err != nil {
		return nil, fmt.Errorf("payment: list memberships: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	list := []Membership{}
	for rows.Next() {
		var m Membership
		var created, activated, expires int64
		if err := rows.Scan(&m.ID, &m.PaymentID, &m.Amount, &m.Status, &created, &activated, &expires, &m.FailureReason); err != nil {
			return nil, fmt.Errorf("payment: list memberships: %w", err)
		}
		m.CreatedAt = events.Time(created)
		if activated > 0 {
			m.ActivatedAt, m.ExpiresAt = events.Time(activated), events.Time(expires)
		}
		list = append(list, m)
	}
	return list, rows.Err()
}
