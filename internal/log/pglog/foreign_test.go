package pglog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log"
)

func TestForeignDatabaseIsRefusedAndRebased(t *testing.T) {
	l, db := open(t)
	ctx := t.Context()
	c := log.Cursor{Consumer: "c"}
	lease, err := l.Lease(ctx, c, "me", time.Minute)
	require.NoError(t, err)
	add(t, l, db, "old")
	_, next := read(t, l, log.Position{}, 10)
	require.NoError(t, l.Advance(ctx, lease, next, time.Minute))
	cut := time.Now()
	add(t, l, db, "unread")
	// The state after a dump was restored elsewhere: another system, transaction ids of the
	// future.
	for _, s := range []string{
		`UPDATE log_cursors SET system_id = system_id + 1`,
		`UPDATE log_messages SET xid = '90000000000000', created_at = created_at - interval '1 hour' WHERE message_id = 'old'`,
		`UPDATE log_messages SET xid = '90000000000001' WHERE message_id = 'unread'`,
	} {
		_, err := db.ExecContext(ctx, s)
		require.NoError(t, err)
	}
	for _, consumer := range []string{"c", "a new group"} {
		if _, err := l.Lease(ctx, log.Cursor{Consumer: consumer}, "me", time.Minute); !is(err, log.ErrForeignDatabase) {
			t.Fatalf("lease of %q: %v, want ErrForeignDatabase", consumer, err)
		}
	}
	if n, err := l.Prune(ctx, 0, time.Now().Add(time.Hour), 100); err != nil || n != 0 {
		t.Fatalf("pruned %d (%v) in a lane whose cursors mean nothing here", n, err)
	}
	require.NoError(t, l.Rebase(ctx, c, cut.Add(-time.Minute)))
	if err := l.Advance(ctx, lease, next, time.Minute); !is(err, log.ErrLeaseLost) {
		t.Fatalf("the old lease still moves the cursor: %v", err)
	}
	lease, err = l.Lease(ctx, c, "me", time.Minute)
	require.NoError(t, err)
	add(t, l, db, "new")
	ids, next := read(t, l, lease.Position, 10)
	want(t, ids, "unread")
	ids, _ = read(t, l, next, 10)
	want(t, ids, "new")
}

// Rows of another server whose transactions are ahead of this one, without a cursor or with one
// of this server: they are not read, and not read later, but refused, until a rebase gives them
// a position.
func TestRowsAheadOfTheServer(t *testing.T) {
	for name, cursor := range map[string]bool{"without a cursor": false, "with a cursor of this server": true} {
		t.Run(name, func(t *testing.T) {
			l, db := open(t)
			ctx := t.Context()
			c := log.Cursor{Consumer: "c"}
			add(t, l, db, "own 1")
			if cursor {
				lease, err := l.Lease(ctx, c, "me", time.Minute)
				require.NoError(t, err)
				_, next := read(t, l, lease.Position, 10)
				require.NoError(t, l.Advance(ctx, lease, next, time.Minute))
				require.NoError(t, l.Release(ctx, lease))
			}
			cut := time.Now()
			add(t, l, db, "old", "copied 1", "copied 2", "own 2")
			if _, err := db.Exec(`UPDATE log_messages SET xid = '90000000000000',
				created_at = created_at - CASE WHEN message_id = 'old' THEN interval '1 hour' ELSE interval '0' END
				WHERE message_id LIKE 'copied%' OR message_id = 'old'`); err != nil {
				t.Fatal(err)
			}
			var lease log.Lease
			var err error
			if cursor {
				if lease, err = l.Lease(ctx, c, "me", time.Minute); err != nil {
					t.Fatal(err)
				}
			}
			l.looked.Clear() // as in a new process
			for range 3 {
				entries, _, err := l.Read(ctx, 0, lease.Position, 10)
				if !is(err, log.ErrForeignDatabase) || len(entries) > 0 || !has(err.Error(), "90000000000000") || !has(err.Error(), "rebase") {
					t.Fatalf("read %d entries, %v; want ErrForeignDatabase that names the transaction", len(entries), err)
				}
			}
			require.NoError(t, l.Rebase(ctx, c, cut.Add(-time.Minute)))
			if cursor {
				if err := l.Advance(ctx, lease, lease.Position, time.Minute); !is(err, log.ErrLeaseLost) {
					t.Fatalf("the lease from before the rebase still moves the cursor: %v", err)
				}
			}
			if lease, err = l.Lease(ctx, c, "me", time.Minute); err != nil {
				t.Fatal(err)
			}
			add(t, l, db, "new")
			ids, at := drain(t, l, lease.Position, 10)
			// All rows since then, again; "old" has an older time, and an id after the first of them.
			want(t, ids, "own 1", "old", "copied 1", "copied 2", "own 2", "new")
			ids, _ = drain(t, l, at, 10)
			want(t, ids)
		})
	}
}

// A row that is copied in while a reader runs is detected, and not read meanwhile.
func TestRowsAheadAreNotReadBetweenLooks(t *testing.T) {
	l, db := open(t)
	_, at := drain(t, l, log.Position{}, 10)
	add(t, l, db, "copied", "own")
	_, err := db.Exec(`UPDATE log_messages SET xid = '90000000000000' WHERE message_id = 'copied'`)
	require.NoError(t, err)
	for range 3 {
		ids, next := read(t, l, at, 10)
		if at = next; len(ids) > 0 {
			want(t, ids, "own")
		}
	}
	l.looked.Clear() // as after a while
	if _, _, err := l.Read(t.Context(), 0, at, 10); !is(err, log.ErrForeignDatabase) {
		t.Fatalf("reading returned %v, want ErrForeignDatabase", err)
	}
}

// A position of another run of the server, or of another server, is refused anywhere. A position
// without a server gets the server of the read.
func TestReadOnAnotherServer(t *testing.T) {
	l, db := open(t)
	db.SetMaxOpenConns(4)
	late := begin(t, db)
	appendTo(t, l, late, "late")
	add(t, l, db, "a", "b", "c")
	_, within := read(t, l, log.Position{}, 2)
	_, end := drain(t, l, within, 2)
	commit(t, late)
	lease, err := l.Lease(t.Context(), log.Cursor{Consumer: "c"}, "me", time.Minute)
	require.NoError(t, err)
	beyond := within // another server may not have begun what this one has seen
	beyond.From, beyond.To = "5:90000000000000:89999999999000", "90000000000005:90000000000005:"
	for name, at := range map[string]log.Position{
		"the beginning": lease.Position, "a window": within, "the end": end, "a window ahead": beyond,
	} {
		if at.Server == "" {
			t.Errorf("%s: the position names no server", name)
		}
		at.Server += "0"
		if entries, _, err := l.Read(t.Context(), 0, at, 10); !is(err, log.ErrLeaseLost) || len(entries) > 0 {
			t.Errorf("%s: read %d entries, %v; want ErrLeaseLost", name, len(entries), err)
		}
	}
}
