package pglog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log"
)

// wantBacklog compares the backlog with the rows that a reader behind the cursor reads.
func wantBacklog(t *testing.T, l *Log, c log.Cursor, at log.Position, want int) {
	t.Helper()
	n, oldest, err := l.Backlog(t.Context(), c, 1, 100)
	if err != nil || n != want || oldest.IsZero() != (want == 0) {
		t.Errorf("the backlog is %d, oldest %v (%v), want %d", n, oldest, err, want)
	}
	read := 0
	for {
		page, next, err := l.Read(t.Context(), c.Lane, at, 3)
		require.NoError(t, err)
		read += len(page)
		if len(page) == 0 && next == at || next.To == "" && len(page) == 0 {
			break
		}
		at = next
	}
	assert.Equal(t, want, read, "entries are read behind the cursor")
}

// Rows of a transaction that was open when the window was opened are counted once, and so are
// the rest of a window and the rows after it.
func TestBacklogAroundAWindow(t *testing.T) {
	l, db := open(t)
	db.SetMaxOpenConns(8)
	c := log.Cursor{Consumer: "c"}
	lease, err := l.Lease(t.Context(), c, "me", time.Minute)
	require.NoError(t, err)
	early := begin(t, db)
	appendTo(t, l, early, "early")
	add(t, l, db, "1", "2", "3")
	page, _, err := l.Read(t.Context(), 0, lease.Position, 10)
	if err != nil || len(page) != 3 {
		t.Fatalf("read %d entries (%v), want 3", len(page), err)
	}
	late := begin(t, db)
	appendTo(t, l, late, "late")
	stand := func(at log.Position) log.Position {
		require.NoError(t, l.Advance(t.Context(), lease, at, time.Minute))
		lease.Position = at
		return at
	}
	within := stand(page[0].Position)
	wantBacklog(t, l, c, within, 2)
	commit(t, early)
	wantBacklog(t, l, c, within, 3)
	add(t, l, db, "4")
	wantBacklog(t, l, c, within, 4)
	behind := stand(page[2].Position)
	wantBacklog(t, l, c, behind, 2)
	commit(t, late)
	wantBacklog(t, l, c, behind, 3)
}
