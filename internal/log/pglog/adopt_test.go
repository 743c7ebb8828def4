package pglog

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log"
)

// After pg_upgrade the system identifier differs and transaction ids continue: the cursors are
// adopted unchanged. If a stored id may be assigned again on this server, they are not.
func TestAdopt(t *testing.T) {
	l, db := open(t)
	db.SetMaxOpenConns(8)
	ctx := t.Context()
	add(t, l, db, "done", "open")
	at := lease(t, l, "me")
	page, _, err := l.Read(ctx, 0, at.Position, 2)
	require.NoError(t, err)
	require.NoError(t, l.Advance(ctx, at, page[0].Position, time.Hour))
	at.Position = page[0].Position
	exec := func(s string) {
		t.Helper()
		_, err := db.ExecContext(ctx, s)
		require.NoError(t, err)
	}
	exec(`UPDATE log_cursors SET system_id = system_id + 1`)
	refused := func(why string) {
		t.Helper()
		var e *AdoptError
		if err := l.Adopt(ctx); !errors.As(err, &e) || !strings.Contains(err.Error(), "millrace outbox rebase") {
			t.Errorf("adopted though %s: %v", why, err)
		}
		if _, err := l.Lease(ctx, at.Cursor, "me", time.Hour); !is(err, log.ErrForeignDatabase) {
			t.Errorf("lease after a refused adoption: %v, want ErrForeignDatabase", err)
		}
	}
	exec(`UPDATE log_messages SET xid = '90000000000000' WHERE message_id = 'open'`)
	refused("a row's transaction lies ahead of this server")
	exec(`UPDATE log_messages SET xid = '3' WHERE message_id = 'open'`)
	exec(`UPDATE log_cursors_progress SET window_to = '3:90000000000000:' WHERE n = (SELECT max(n) FROM log_cursors_progress)`)
	refused("a cursor's snapshot lies ahead of this server")
	exec(`UPDATE log_cursors_progress SET window_to = '` + page[0].Position.To + `' WHERE n = (SELECT max(n) FROM log_cursors_progress)`)

	// Sessions of other tests have transactions too: retry until those that were open have
	// ended.
	deadline := time.Now().Add(20 * time.Second)
	for err = l.Adopt(ctx); err != nil && time.Now().Before(deadline); err = l.Adopt(ctx) {
		var e *AdoptError
		if !errors.As(err, &e) {
			t.Fatal(err)
		}
	}
	require.NoError(t, err)
	if err := l.Renew(ctx, time.Hour, at); !is(err, log.ErrLeaseLost) {
		t.Errorf("a lease from before the adoption still holds: %v", err)
	}
	ids, _ := read(t, l, lease(t, l, "me").Position, 10)
	want(t, ids, "open")
	assert.NoError(t, l.Adopt(ctx), "adopting what is of this system")
}
