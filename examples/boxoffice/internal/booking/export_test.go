package booking

import (
	"context"
	"database/sql"
)

// EndFound is the second half of a sweep. A test calls it with the ids that the first
// half found a moment ago.
func (b *Booking) EndFound(ctx context.Context, tx *sql.Tx, ids ...string) (int, error) {
	return b.endFound(ctx, tx, ids)
}

// SeatsOfMember are the seats that a list of the member's reservations reads.
func (b *Booking) SeatsOfMember(ctx context.Context, member string) (map[string][]string, error) {
	return b.seatsOfMember(ctx, b.desk.store.Reader(), member)
}

// HoldIn reserves seats inside tx.
func (b *Booking) HoldIn(ctx context.Context, tx *sql.Tx, id, member, show string, seats []string) error {
	_, err := b.hold(ctx, tx, id, member, show, seats)
	return err
}
