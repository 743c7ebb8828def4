package booking_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// A booking reads its member's rows and its own seats, however many others there are, and
// before PostgreSQL has analyzed a table: a sale may begin in the minute of the first start.
func TestABookingReadsItsOwnRows(t *testing.T) {
	b := boxtest.Open(t, servicetest.PostgresURL(t))
	seat := func(n int) string { return fmt.Sprintf("%c-%d", 'A'+n/25, n%25+1) }
	const others = 200
	for n := range others {
		b.Reserve(t, fmt.Sprint("fan-", n), seat(n))
	}
	for seats := range 6 {
		member := fmt.Sprint("fan-", seats)
		var asked []string
		for n := range seats + 1 {
			asked = append(asked, seat(others+25*seats+n))
		}
		err := b.Store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			before := rowsRead(t, tx)
			if err := b.Booking.HoldIn(ctx, tx, uuid.NewString(), member, "show-2", asked); err != nil {
				return err
			}
			require.Less(t, rowsRead(t, tx)-before, 10+5*len(asked), "rows read for %d seats", len(asked))
			return nil
		})
		require.NoError(t, err)
	}
}

// rowsRead is a number that grows by the rows that a transaction reads.
func rowsRead(t *testing.T, tx *sql.Tx) (n int) {
	t.Helper()
	require.NoError(t, tx.QueryRowContext(t.Context(), `SELECT SUM(seq_tup_read + idx_tup_fetch)
		FROM pg_stat_xact_user_tables WHERE relname IN ('seats', 'reservations', 'payments')`).Scan(&n))
	return n
}
