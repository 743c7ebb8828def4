package pglog

import (
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log"
)

// BenchmarkAdvanceBesideASnapshot moves a cursor 100,000 times while another session keeps its
// snapshot, as pg_dump does, and reports the time of the last thousand of the first 1,000,
// 27,000 and 100,000 moves. Run it with -benchtime 1x.
func BenchmarkAdvanceBesideASnapshot(b *testing.B) {
	for b.Loop() {
		l, db := open(b)
		ctx := b.Context()
		db.SetMaxOpenConns(4)
		lease, err := l.Lease(ctx, log.Cursor{Consumer: "c"}, "me", time.Hour)
		if err != nil {
			b.Fatal(err)
		}
		hold(b, db)
		var took []time.Duration
		for n := 1; n <= 100_000; n++ {
			start := time.Now()
			if err := l.Advance(ctx, lease, lease.Position, time.Hour); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(start))
			switch n {
			case 1_000, 27_000, 100_000:
				last := slices.Sorted(slices.Values(took[n-1_000:]))
				b.Logf("after %6d moves: p50 %v, p99 %v", n, last[500], last[990])
			}
		}
	}
}

// hold keeps a snapshot of the present until the test ends.
func hold(t testing.TB, db *sql.DB) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	require.NoError(t, err)
	t.Cleanup(func() { tx.Rollback() })
	_, err = tx.ExecContext(t.Context(), `SELECT 1`)
	require.NoError(t, err)
}
