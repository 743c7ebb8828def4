package logbustest

import (
	"testing"

	"github.com/millrace-go/millrace/bus"
)

// Starts checks that a reset of one partition of a group forgets what crashes have left of that
// cursor, and of no other.
func Starts(t *testing.T, tr Transport) {
	url := tr.URL(t)
	b, db := tr.Open(t, url, Settings{}), tr.App(t, url, 2)
	declare(t, b, "topic", "group", "other")
	if _, err := db.ExecContext(t.Context(), `INSERT INTO bus_starts (consumer, lane, starts, message, times, done)
		SELECT consumer, lane, 3, 'message', 1, 'done' FROM bus_cursors`); err != nil {
		t.Fatal(err)
	}
	count := func(where string) (n int) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM bus_starts WHERE `+where).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const kept = `starts = 3 AND message = 'message' AND times = 1 AND done = 'done'`
	all := count(kept)
	if all < 4 {
		t.Fatalf("the groups have %d cursors, want two of each at least", all)
	}
	if _, err := b.ResetGroup(t.Context(), "topic", "group", bus.Place{Positions: map[int]int64{0: 0}}, false); err != nil {
		t.Fatal(err)
	}
	if n, left := count(`starts = 0 AND message = '' AND times = 0 AND done = ''`), count(kept); n != 1 || left != all-1 {
		t.Errorf("after a reset of one partition %d of %d cursors are forgotten and %d as before, want 1 and %d", n, all, left, all-1)
	}
}
