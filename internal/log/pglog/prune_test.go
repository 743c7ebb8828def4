package pglog

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fillAged appends n rows of an age to lane 0 at once.
func fillAged(t testing.TB, db *sql.DB, n int, age time.Duration) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), `INSERT INTO log_messages (lane, topic, message_id, message_key, headers, payload, created_at)
		SELECT 0, 't', g::text, 'k', '', 'x', clock_timestamp() - make_interval(secs => $2) FROM generate_series(1, $1::integer) AS g`, n, age.Seconds())
	require.NoError(t, err)
}

// standAt puts a cursor of lane 0 behind all present rows.
func standAt(t testing.TB, db *sql.DB, consumer string) {
	t.Helper()
	for _, s := range []string{
		`INSERT INTO log_cursors (consumer, lane, system_id) SELECT '%s', 0, system_identifier FROM pg_control_system()`,
		`INSERT INTO log_cursors_progress (consumer, lane, n, window_from) VALUES ('%s', 0, 0, pg_current_snapshot())`,
	} {
		_, err := db.ExecContext(t.Context(), fmt.Sprintf(s, consumer))
		require.NoError(t, err)
	}
}

func pruneAll(t testing.TB, l *Log, before time.Time, chunk int) (deleted int) {
	t.Helper()
	for {
		n, err := l.Prune(t.Context(), 0, before, chunk)
		require.NoError(t, err)
		if deleted += n; n < chunk {
			return deleted
		}
	}
}

// Each chunk reads only the rows it deletes, also while a session keeps its snapshot, and in a
// process that begins later.
func TestPruneReadsWhatItDeletes(t *testing.T) {
	const rows, kept, chunk = 200_000, 100_000, 500
	l, db := open(t)
	db.SetMaxOpenConns(4)
	fillAged(t, db, rows-kept, time.Hour)
	fillAged(t, db, kept, 0)
	standAt(t, db, "c")
	_, err := db.Exec(`VACUUM ANALYZE log_messages`)
	require.NoError(t, err)
	hold(t, db)
	old := time.Now().Add(-30 * time.Minute)
	look := func(l *Log, when string, most int) {
		t.Helper()
		at, err := l.placeOf(t.Context(), 0)
		require.NoError(t, err)
		if n, plan := buffers(t, db, l.sql.prune, 0, old, chunk, at.id); n > most {
			t.Errorf("%s a chunk looks at %d pages, want at most %d:\n%s", when, n, most, plan)
		}
	}
	look(l, "at first", 4*chunk)
	if n := pruneAll(t, l, old, chunk); n != rows-kept {
		t.Fatalf("pruned %d rows, want the %d old ones", n, rows-kept)
	}
	look(l, "behind dead rows", chunk)
	fresh, err := New(db, tables)
	require.NoError(t, err)
	look(fresh, "in a new process, behind dead rows,", chunk)
	if n := pruneAll(t, fresh, time.Now(), chunk); n != kept {
		t.Errorf("the new process pruned %d rows, want the other %d", n, kept)
	}
	// This process passes the other one's deleted rows once.
	add(t, l, db, "young")
	if n := pruneAll(t, l, old, chunk); n != 0 {
		t.Errorf("pruned %d rows that are young", n)
	}
	look(l, "behind what another process deleted", chunk)
}

// A row that was written before pruning passed and committed after is pruned like any other,
// once it is read and old.
func TestLateRowsArePruned(t *testing.T) {
	l, db := open(t)
	db.SetMaxOpenConns(8)
	future := time.Now().Add(time.Hour)
	at := lease(t, l, "me")
	late := begin(t, db)
	appendTo(t, l, late, "late", "late too")
	add(t, l, db, "a", "b")
	rolled := begin(t, db)
	appendTo(t, l, rolled, "rolled back")
	forward := func(ids ...string) {
		t.Helper()
		got, next := read(t, l, at.Position, 10)
		want(t, got, ids...)
		require.NoError(t, l.Advance(t.Context(), at, next, time.Hour))
		at.Position = next
	}
	prune := func(l *Log, limit, want int, when string) {
		t.Helper()
		if n, err := l.Prune(t.Context(), 0, future, limit); err != nil || n != want {
			t.Errorf("%s: pruned %d rows (%v), want %d", when, n, err, want)
		}
	}
	forward("a", "b")
	prune(l, 10, 2, "what was read")
	commit(t, late)
	require.NoError(t, rolled.Rollback())
	prune(l, 10, 0, "the late rows are not read yet")
	forward("late", "late too")
	other, err := New(db, tables) // continues from the stored place
	require.NoError(t, err)
	prune(other, 1, 1, "the first late row, in a new process")
	prune(l, 10, 1, "the second late row")
	prune(l, 10, 0, "nothing is left")
	if at, err := l.placeOf(t.Context(), 0); err != nil || at.running != "{}" {
		t.Errorf("the transactions %s are still looked at (%v)", at.running, err)
	}
	add(t, l, db, "c")
	forward("c")
	prune(l, 10, 1, "what came since")
}

// After a failover the new primary may be behind this process's memory, and assign the same ids
// again.
func TestPruningBeginsAgainOnAnotherServer(t *testing.T) {
	l, db := open(t)
	add(t, l, db, "a", "b")
	future := time.Now().Add(time.Hour)
	l.pruned.Store(0, place{id: 1000, running: "{}", server: "the one before"})
	if n, err := l.Prune(t.Context(), 0, future, 10); err != nil || n != 0 {
		t.Errorf("pruned %d (%v)", n, err)
	}
	if n, err := l.Prune(t.Context(), 0, future, 10); err != nil || n != 2 {
		t.Errorf("pruned %d (%v) on the new server, want 2", n, err)
	}
}

// A row of a lane whose cursor has no progress, deleted by hand, counts as unread.
func TestPruneSparesACursorWithoutProgress(t *testing.T) {
	l, db := open(t)
	add(t, l, db, "a")
	lease(t, l, "me")
	_, err := db.Exec(`DELETE FROM log_cursors_progress`)
	require.NoError(t, err)
	if n, err := l.Prune(t.Context(), 0, time.Now().Add(time.Hour), 10); err != nil || n != 0 {
		t.Errorf("pruned %d (%v)", n, err)
	}
}
