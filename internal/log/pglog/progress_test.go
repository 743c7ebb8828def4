package pglog

import (
	"context"
	"database/sql"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

// buffers is the number of pages that a statement reads, planned for its values or for any, the
// greater of the two.
func buffers(t testing.TB, db *sql.DB, statement string, args ...any) (most int, plan string) {
	t.Helper()
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		if text, n := explain(t, db, mode, statement, args); n > most {
			most, plan = n, mode+"\n"+text
		}
	}
	return most, plan
}

// advanceArgs are the parameters of advance.sql for a lease that moves to p.
func advanceArgs(l log.Lease, p log.Position) []any {
	at := l.Position
	return []any{l.Consumer, l.Lane, l.Token, at.Server, 3600.0, covered(at), at.To, at.End, at.ID, covered(p), p.To, p.End, p.ID, p.Floor}
}

func lease(t testing.TB, l *Log, holder string) log.Lease {
	t.Helper()
	got, err := l.Lease(t.Context(), log.Cursor{Consumer: "c"}, holder, time.Hour)
	require.NoError(t, err)
	return got
}

// While a session keeps its snapshot no row can be removed. A move must not read the rows of
// earlier moves: with one updated row, each move read all its dead versions.
func TestMovesBesideAHeldSnapshot(t *testing.T) {
	const moves = 3000
	l, db := open(t)
	db.SetMaxOpenConns(4)
	at := lease(t, l, "me")
	hold(t, db)
	first, _ := buffers(t, db, l.sql.advance, advanceArgs(at, at.Position)...)
	for range moves {
		require.NoError(t, l.Renew(t.Context(), time.Hour, at))
	}
	behind, err := Behind(at.Position)
	require.NoError(t, err)
	for name, args := range map[string][]any{
		l.sql.advance:  advanceArgs(at, at.Position),
		l.sql.lease:    {at.Consumer, at.Lane, "me", 3600.0},
		l.sql.release:  {at.Consumer, at.Lane, at.Token, at.Position.Server, "me"},
		l.sql.position: {at.Consumer, at.Lane},
		l.sql.backlog:  append([]any{at.Lane, 100}, behind...),
	} {
		if n, plan := buffers(t, db, name, args...); n > first+20 {
			t.Errorf("after %d moves a statement looks at %d pages, the first move looked at %d:\n%s", moves, n, first, plan)
		}
	}
	var left, newest int
	require.NoError(t, db.QueryRow(`SELECT count(*), max(n) FROM log_cursors_progress`).Scan(&left, &newest))
	if newest < moves || left > 2*sweepEvery+2 {
		t.Errorf("%d rows of progress are left after %d, want no more than %d", left, newest, 2*sweepEvery+2)
	}
}

// Old rows are deleted once a transaction that holds one of them has ended, and none of them
// before: the range is deleted as a whole.
func TestSweepDoesNotWait(t *testing.T) {
	l, db := open(t)
	at := lease(t, l, "me")
	holder := begin(t, db)
	_, err := holder.Exec(`SELECT 1 FROM log_cursors_progress ORDER BY n DESC LIMIT 1 FOR KEY SHARE`)
	require.NoError(t, err)
	left := func() (n int) {
		require.NoError(t, db.QueryRow(`SELECT count(*) FROM log_cursors_progress`).Scan(&n))
		return n
	}
	renew := func(times int) {
		for range times {
			require.NoError(t, l.Renew(t.Context(), time.Hour, at))
		}
	}
	renew(4 * sweepEvery)
	if n := left(); n != 4*sweepEvery+2 {
		t.Errorf("%d rows are left beside a transaction that holds one, want all %d", n, 4*sweepEvery+2)
	}
	commit(t, holder)
	renew(sweepEvery)
	if n := left(); n > 2*sweepEvery+2 {
		t.Errorf("%d rows are left after that transaction ended", n)
	}
}

// A holder whose transaction uses an old snapshot sees itself hold the lease, and the number of
// its next row is free again once old rows are deleted.
func TestOldSnapshotMovesNothing(t *testing.T) {
	l, db := open(t)
	db.SetMaxOpenConns(8)
	old := lease(t, l, "old")
	err := sqltx.Do(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `SELECT 1`); err != nil { // takes the snapshot
			return err
		}
		if _, err := db.Exec(`UPDATE log_cursors_progress SET lease_until = '-infinity'`); err != nil {
			return err
		}
		fresh := lease(t, l, "new")
		for range 4 * sweepEvery {
			if err := l.Renew(t.Context(), time.Hour, fresh); err != nil {
				return err
			}
		}
		return l.Advance(ctx, old, old.Position, time.Hour)
	}, sqltx.Options{Isolation: sql.LevelRepeatableRead, Attempts: 1})
	require.Error(t, err, "a lease that was lost long ago moved the cursor")
	assert.Equal(t, old.Token+2, lease(t, l, "new").Token, "the token")
}

// A lease ends with the server on which it was taken, when the cursor is not at the holder's
// position, and when the row there is not the one that was read: a lagging replica has become
// the primary, or a proxy leads to another server.
func TestAnotherServerOrPlaceIsRefused(t *testing.T) {
	l, db := open(t)
	ctx := t.Context()
	add(t, l, db, "a", "b", "c", "d")
	at := lease(t, l, "me")
	page, _, err := l.Read(ctx, 0, at.Position, 3)
	if err != nil || len(page) != 3 {
		t.Fatalf("read %d entries (%v)", len(page), err)
	}
	from := func(change func(*log.Lease)) log.Lease {
		other := at
		change(&other)
		return other
	}
	gone := page[1].Position
	gone.ID += 1_000_000
	gone.End += 1_000_000
	foreign := page[1].Position
	foreign.Server = "another"
	for name, tc := range map[string]struct {
		lease log.Lease
		to    log.Position
	}{
		"a lease of another server":       {from(func(l *log.Lease) { l.Position.Server = "another" }), page[1].Position},
		"a position of another server":    {at, foreign},
		"from where it does not stand":    {from(func(l *log.Lease) { l.Position = page[0].Position }), page[1].Position},
		"to a row that is not there":      {at, gone},
		"with the token of another lease": {from(func(l *log.Lease) { l.Token++ }), page[1].Position},
	} {
		if err := l.Advance(ctx, tc.lease, tc.to, time.Hour); !is(err, log.ErrLeaseLost) {
			t.Errorf("advance, %s: %v, want ErrLeaseLost", name, err)
		}
		if tc.lease.Token == at.Token && tc.lease.Position == at.Position {
			continue
		}
		if err := l.Renew(ctx, time.Hour, tc.lease); !is(err, log.ErrLeaseLost) {
			t.Errorf("renew, %s: %v, want ErrLeaseLost", name, err)
		}
	}
	// None of these calls moved the cursor, and a repeated move is accepted.
	for range 2 {
		require.NoError(t, l.Advance(ctx, at, page[1].Position, time.Hour))
	}
	if err := l.Renew(ctx, time.Hour, at); !is(err, log.ErrLeaseLost) {
		t.Errorf("renew from where it stood before: %v, want ErrLeaseLost", err)
	}
	// A lease of another server with the same token does not release this one either.
	require.NoError(t, l.Release(ctx, from(func(l *log.Lease) { l.Position.Server = "another" })))
	if _, err := l.Lease(ctx, at.Cursor, "you", time.Hour); !is(err, log.ErrLeaseHeld) {
		t.Errorf("lease after a release on another server: %v, want ErrLeaseHeld", err)
	}
}

// Two concurrent statements of one holder, as after a lost answer: both are stored.
func TestConcurrentStatementsOfOneHolder(t *testing.T) {
	l, db := open(t)
	db.SetMaxOpenConns(8)
	at := lease(t, l, "me")
	errs := make(chan error)
	for range 4 {
		go func() {
			for range 100 {
				if err := l.Renew(t.Context(), time.Hour, at); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range 4 {
		assert.NoError(t, <-errs)
	}
	var newest int
	if err := db.QueryRow(`SELECT max(n) FROM log_cursors_progress`).Scan(&newest); err != nil || newest < 401 {
		t.Errorf("%d rows were appended (%v), want at least 401", newest, err)
	}
}

// A new holder waits for an Advance with work that is under way, and starts behind it.
func TestANewHolderWaitsForTheWork(t *testing.T) {
	l, db := open(t)
	db.SetMaxOpenConns(8)
	add(t, l, db, "a", "b")
	at := lease(t, l, "me")
	page, _, err := l.Read(t.Context(), 0, at.Position, 1)
	require.NoError(t, err)
	taken := make(chan log.Lease)
	err = sqltx.Do(t.Context(), db, func(ctx context.Context, _ *sql.Tx) error {
		if err := l.Advance(ctx, at, page[0].Position, 0); err != nil {
			return err
		}
		go func() {
			for {
				got, err := l.Lease(t.Context(), at.Cursor, "you", time.Hour)
				if !is(err, log.ErrLeaseHeld) {
					assert.NoError(t, err)
					taken <- got
					return
				}
			}
		}()
		// The lease of the committed row has an hour left: end it now.
		if _, err := db.ExecContext(ctx, `UPDATE log_cursors_progress SET lease_until = '-infinity'`); err != nil {
			return err
		}
		return waiting(ctx, db)
	})
	require.NoError(t, err)
	if got := <-taken; got.Position.ID != page[0].Position.ID || got.Token != at.Token+1 {
		t.Errorf("the new holder begins at %+v, want behind the row that was done", got)
	}
}

// waiting returns once a session of this database waits for another's transaction.
func waiting(ctx context.Context, db *sql.DB) error {
	for {
		var n int
		err := db.QueryRowContext(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%log_cursors_progress%'
				AND pg_backend_pid() <> pid`).Scan(&n)
		if err != nil || n > 0 {
			return err
		}
	}
}

// The migration keeps the data of the previous release, and instances of that release can no
// longer move a cursor.
func TestMigrationCarriesCursorsOver(t *testing.T) {
	db := servicetest.Postgres(t)
	l, err := New(db, tables)
	require.NoError(t, err)
	set, err := l.Migrations()
	require.NoError(t, err)
	before := set
	schema, err := fs.ReadFile(set.FS, "0001_log.sql")
	require.NoError(t, err)
	before.FS = fstest.MapFS{"0001_log.sql": {Data: schema}}
	require.NoError(t, before.Up(t.Context(), db))
	add(t, l, db, "done", "open")
	_, err = db.Exec(`INSERT INTO log_cursors (consumer, lane, system_id, window_to, window_end, last_id, lease_holder, lease_token, lease_until)
		SELECT 'c', 0, system_identifier, pg_current_snapshot(), 2, 1, 'old', 7, 'infinity' FROM pg_control_system()`)
	require.NoError(t, err)
	require.NoError(t, set.Up(t.Context(), db))
	if _, err := l.Lease(t.Context(), log.Cursor{Consumer: "c"}, "new", time.Hour); !is(err, log.ErrLeaseHeld) {
		t.Errorf("the lease of the old release is not respected: %v", err)
	}
	at := lease(t, l, "old")
	assert.EqualValues(t, 8, at.Token, "the token")
	ids, _ := read(t, l, at.Position, 10)
	want(t, ids, "open")
	for _, old := range []string{
		`UPDATE log_cursors SET last_id = 9 WHERE consumer = 'c' AND lane = 0 AND lease_token = 7`,
		`UPDATE log_cursors SET lease_until = 'infinity' WHERE consumer = 'c' AND lane = 0 AND lease_token = 7`,
		`UPDATE log_cursors SET lease_holder = 'old', lease_token = lease_token + 1 WHERE consumer = 'c' AND lane = 0`,
	} {
		if _, err := db.Exec(old); err == nil {
			t.Errorf("a statement of the old release still works: %s", old)
		}
	}
}

// If a cursor is deleted, its consumer starts at the earliest entry, even while its holder is at
// work.
func TestADeletedCursorStartsAgain(t *testing.T) {
	l, db := open(t)
	add(t, l, db, "a", "b")
	at := lease(t, l, "me")
	_, next := read(t, l, at.Position, 10)
	require.NoError(t, l.Advance(t.Context(), at, next, time.Hour))
	_, err := db.Exec(`DELETE FROM log_cursors`)
	require.NoError(t, err)
	at.Position = next
	if err := l.Renew(t.Context(), time.Hour, at); !is(err, log.ErrLeaseLost) {
		t.Errorf("renew: %v, want ErrLeaseLost", err)
	}
	ids, _ := read(t, l, lease(t, l, "me").Position, 10)
	want(t, ids, "a", "b")
}
