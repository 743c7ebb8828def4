package storetest

import (
	"testing"
	"time"
)

// StatusPruneGoesOn deletes in chunks: each chunk continues behind the one before, and rows before
// them that are published late are deleted in the next round.
func (d Database) StatusPruneGoesOn(t *testing.T) {
	store, db := d.Store(t, Config{Status: true})
	add(t, store, db, 5)
	exec := func(query string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	exec(`UPDATE outbox_events SET state = 'PUBLISHED' WHERE id NOT IN (SELECT id FROM (SELECT id FROM outbox_events ORDER BY seq LIMIT 1) AS first)`)
	prune := func(want int) {
		t.Helper()
		n, err := store.Prune(t.Context(), 0, time.Now().Add(time.Hour), 2)
		if err != nil || n != want {
			t.Errorf("pruned %d, %v; want %d", n, err, want)
		}
	}
	prune(2)
	exec(`UPDATE outbox_events SET state = 'PUBLISHED'`)
	prune(2) // behind the first two: not the late one
	prune(0)
	prune(1)
}
