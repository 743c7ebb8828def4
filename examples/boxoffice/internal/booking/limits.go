package booking

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// The two limits of a show.
const (
	LimitHeld   = "held"   // seats that a member holds at once
	LimitBought = "bought" // seats that a member buys, with those that it holds now
)

// Allowance is how many seats of a show a member may have, and has. Held are the
// seats that wait for a payment or have one in flight. Bought are the seats that the
// member paid for and did not give back, transferred or not; received tickets are not
// among them.
type Allowance struct{ MaxHeld, MaxBought, Held, Bought int }

// Remaining is how many more seats the member may hold now.
func (a Allowance) Remaining() int { return max(0, min(a.heldLeft(), a.boughtLeft())) }

func (a Allowance) heldLeft() int { return a.MaxHeld - a.Held }

// boughtLeft counts seats that are held too: they may be bought.
func (a Allowance) boughtLeft() int { return a.MaxBought - a.Held - a.Bought }

// limit is the limit that leaves fewer seats, and its number.
func (a Allowance) limit() (name string, most int) {
	if a.heldLeft() <= a.boughtLeft() {
		return LimitHeld, a.MaxHeld
	}
	return LimitBought, a.MaxBought
}

// LimitError is returned when a member asks for more seats of a show than it may
// have. Nothing was held.
type LimitError struct {
	Allowance
	Asked int
	Limit string // LimitHeld or LimitBought, the one that leaves fewer seats
	Max   int    // that it allows
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("booking: %d seats were asked for and %d remain: the member holds %d and bought %d, and the limit of seats %s is %d",
		e.Asked, e.Remaining(), e.Held, e.Bought, e.Limit, e.Max)
}

// Allowances bound how many seats a member has.
type Allowances struct{ *desk }

// Allowance returns how many seats of a show the member may have, or
// catalog.ErrNoShow.
func (l *Allowances) Allowance(ctx context.Context, member, show string) (Allowance, error) {
	return l.allowance(ctx, l.store.Reader(), member, show)
}

func (l *Allowances) allowance(ctx context.Context, q store.RowQuerier, member, show string) (a Allowance, err error) {
	err = q.QueryRowContext(ctx, l.sql.Allowance, member, show).Scan(&a.MaxHeld, &a.MaxBought, &a.Held, &a.Bought)
	if errors.Is(err, sql.ErrNoRows) {
		return a, catalog.ErrNoShow
	}
	if err != nil {
		return a, fmt.Errorf("booking: seats of %s in %s: %w", member, show, err)
	}
	return a, nil
}

// within returns a *LimitError when the member may not hold n more seats of the show.
// The member's row stays locked until tx ends: another hold of this member, in any
// process, is counted before or waits.
func (l *Allowances) within(ctx context.Context, tx *sql.Tx, member, show string, n int) error {
	if err := l.lockMember(ctx, tx, member); err != nil {
		return fmt.Errorf("booking: lock the member %s: %w", member, err)
	}
	a, err := l.allowance(ctx, tx, member, show)
	if err != nil {
		return err
	}
	if n > a.Remaining() {
		limit, most := a.limit()
		return &LimitError{Allowance: a, Asked: n, Limit: limit, Max: most}
	}
	return nil
}

func (l *Allowances) lockMember(ctx context.Context, tx *sql.Tx, member string) error {
	lock := func() error {
		var locked string
		return tx.QueryRowContext(ctx, l.sql.LockMember, member).Scan(&locked)
	}
	err := lock()
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err := l.store.AddMember(ctx, tx, member); err != nil {
		return err
	}
	return lock()
}
