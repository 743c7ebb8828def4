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
