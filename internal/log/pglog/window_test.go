package pglog

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// fill appends n committed rows in one statement, as a backlog.
func fill(t testing.TB, x interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, prefix string, n int,
) {
	t.Helper()
	_, err := x.ExecContext(t.Context(), `INSERT INTO log_messages (lane, topic, message_id, message_key, headers, payload)
		SELECT 0, 't', $1::text || g, 'k' || g % 7, '', 'x' FROM generate_series(1, $2::int) AS g`, prefix, n)
	require.NoError(t, err)
}

// drain reads until a read opens a window that is empty.
func drain(t testing.TB, l *Log, at log.Position, max int) (ids []string, end log.Position) {
	t.Helper()
	for {
		page, next := read(t, l, at, max)
		if ids, at = append(ids, page...), next; len(page) == 0 {
			return ids, at
		}
	}
}

// Transactions that began before 300,000 rows, or wrote among them, commit after all of them
// were read. Their rows are read in small pages, by id, each once; no retained row is read
// again.
func TestLateRowsAmongManyRetained(t *testing.T) {
	l, db := open(t)
	db.SetMaxOpenConns(8)
	early, among := begin(t, db), begin(t, db)
	appendTo(t, l, early, "early 1", "early 2", "early 3")
	fill(t, db, "a", 150_000)
	appendTo(t, l, among, "among 1")
	appendTo(t, l, early, "early 4")
	fill(t, db, "b", 150_000)
	appendTo(t, l, among, "among 2", "among 3")
	gone := begin(t, db)
	fill(t, gone, "never", 10_000)
	at := log.Position{}
	for read := 0; read < 300_000; {
		entries, next, err := l.Read(t.Context(), 0, at, 50_000)
		require.NoError(t, err)
		read, at = read+len(entries), next
	}
	ids, at := drain(t, l, at, 10)
	want(t, ids)
	if at.Floor < 300_000 {
		t.Fatalf("the position has the floor %d, want one above what was read", at.Floor)
	}
	add(t, l, db, "new 1")
	commit(t, early)
	commit(t, among)
	require.NoError(t, gone.Rollback())
	add(t, l, db, "new 2", "new 3")
	for _, max := range []int{1, 2, 3, 100} {
		ids, end := drain(t, l, at, max)
		want(t, ids, "early 1", "early 2", "early 3", "among 1", "early 4", "among 2", "among 3", "new 1", "new 2", "new 3")
		add(t, l, db, fmt.Sprint("next ", max))
		ids, _ = drain(t, l, end, max)
		want(t, ids, fmt.Sprint("next ", max))
		_, err := db.Exec(`DELETE FROM log_messages WHERE message_id LIKE 'next%'`)
		require.NoError(t, err)
	}
}

// The xmax of a snapshot is behind the newest transaction that has ended. A transaction that is
// also behind it, and took ids before others did, is still read.
func TestLateRowsOfTheNewestTransaction(t *testing.T) {
	l, db := open(t)
	db.SetMaxOpenConns(8)
	at := log.Position{}
	for n := range 20 { // other transactions of the server may end in between
		older, newest := begin(t, db), begin(t, db)
		for _, tx := range []*sql.Tx{older, newest} {
			_, err := tx.Exec(`SELECT pg_current_xact_id()`)
			require.NoError(t, err)
		}
		appendTo(t, l, newest, fmt.Sprint("newest ", n))
		appendTo(t, l, older, fmt.Sprint("older ", n))
		commit(t, older) // its id is above that of newest, whose xid no snapshot lists
		var ids []string
		ids, at = drain(t, l, at, 10)
		want(t, ids, fmt.Sprint("older ", n))
		commit(t, newest)
		ids, at = drain(t, l, at, 10)
		want(t, ids, fmt.Sprint("newest ", n))
	}
}

// A transaction has its xid before it takes an id, for one row and for many, and for rows
// inserted or moved by hand: otherwise a reader could see the id assigned and the xid not, and
// would look for the row above it.
func TestXidComesBeforeID(t *testing.T) {
	l, db := open(t)
	db.SetMaxOpenConns(8)
	add(t, l, db, "there")
	for name, write := range map[string]func(context.Context, *sql.Conn) error{
		"one": func(ctx context.Context, c *sql.Conn) error { return l.Append(ctx, c, []log.Entry{entry("1")}) },
		"many": func(ctx context.Context, c *sql.Conn) error {
			return l.Append(ctx, c, []log.Entry{entry("1"), entry("2")})
		},
		"by hand": func(ctx context.Context, c *sql.Conn) error {
			_, err := c.ExecContext(ctx, `INSERT INTO log_messages (lane, topic, message_id, message_key, headers, payload) VALUES (0, 't', '1', 'k', '', 'x')`)
			return err
		},
		"moved": func(ctx context.Context, c *sql.Conn) error {
			_, err := c.ExecContext(ctx, `UPDATE log_messages SET id = DEFAULT, xid = DEFAULT WHERE message_id = 'there'`)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := db.Conn(t.Context())
			require.NoError(t, err)
			defer conn.Close()
			var pid int
			require.NoError(t, conn.QueryRowContext(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid))
			// No session gets an id while the sequence is being altered.
			holder := begin(t, db)
			_, err = holder.Exec(`ALTER SEQUENCE log_messages_ids CACHE 1`)
			require.NoError(t, err)
			done := make(chan error, 1)
			go func() { done <- write(context.WithoutCancel(t.Context()), conn) }()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			var xid sql.NullString
			for looks := 0; looks < 2; { // the first look may have seen the xid before the wait
				var waits bool
				err := db.QueryRowContext(ctx, `SELECT wait_event_type IS NOT DISTINCT FROM 'Lock', backend_xid FROM pg_stat_activity WHERE pid = $1`, pid).
					Scan(&waits, &xid)
				require.NoError(t, err)
				if waits {
					looks++
				}
			}
			assert.True(t, xid.Valid, "the statement waits for its id and has no xid yet")
			require.NoError(t, holder.Rollback())
			require.NoError(t, <-done)
		})
	}
}

// A loader with a savepoint for each row takes more xids than a snapshot may list.
func TestManySubtransactionsAreNotListed(t *testing.T) {
	l, db := open(t)
	db.SetMaxOpenConns(8)
	loader := begin(t, db)
	appendTo(t, l, loader, "loaded")
	_, err := loader.Exec(`DO $$ BEGIN
		FOR i IN 1..3000 LOOP
			BEGIN PERFORM pg_current_xact_id(); CREATE TEMP TABLE IF NOT EXISTS touched (n int); INSERT INTO touched VALUES (i);
			EXCEPTION WHEN division_by_zero THEN NULL; END;
		END LOOP; END $$`)
	require.NoError(t, err)
	ids, at := drain(t, l, log.Position{}, 10)
	want(t, ids)
	if n := strings.Count(at.From, ","); n > maxUnlisted || at.Floor < 1 {
		t.Fatalf("a position lists %d transactions, and has the floor %d", n, at.Floor)
	}
	commit(t, loader)
	ids, _ = drain(t, l, at, 10)
	want(t, ids, "loaded")
}

// Positions stored before there was a floor, or without it, read the same rows.
func TestPositionsWithoutAFloor(t *testing.T) {
	l, db := open(t)
	db.SetMaxOpenConns(8)
	late := begin(t, db)
	appendTo(t, l, late, "late")
	add(t, l, db, "a", "b")
	var old log.Position
	require.NoError(t, db.QueryRow(`SELECT pg_current_snapshot()`).Scan(&old.From))
	_, kept := drain(t, l, log.Position{}, 10)
	forgotten := kept
	forgotten.Floor = 0
	wrong := old
	wrong.Floor = 1 << 40
	appendTo(t, l, late, "late 2")
	add(t, l, db, "c", "d")
	commit(t, late)
	for name, at := range map[string]log.Position{"kept": kept, "before floors": old, "forgotten": forgotten, "of another position": wrong} {
		for _, max := range []int{1, 10} {
			ids, _ := drain(t, l, at, max)
			assert.Equalf(t, "[late late 2 c d]", fmt.Sprint(ids), "%s, %d at a time: read %v", name, max, ids)
		}
	}
	// A window that the previous release opened.
	var to string
	require.NoError(t, db.QueryRow(`SELECT pg_current_snapshot()`).Scan(&to))
	open := log.Position{From: old.From, To: to, End: 6, ID: 1}
	add(t, l, db, "e")
	ids, _ := drain(t, l, open, 2)
	want(t, ids, "late 2", "c", "d", "e")
}

// The sequence of ids was set back, or is behind rows that were copied in: no row is searched
// above ids that may be assigned again.
func TestSequenceBehindItsRows(t *testing.T) {
	l, db := open(t)
	add(t, l, db, "a", "b", "c")
	_, at := drain(t, l, log.Position{}, 10)
	for _, s := range []string{`DELETE FROM log_messages`, `ALTER SEQUENCE log_messages_ids RESTART`} {
		_, err := db.Exec(s)
		require.NoError(t, err)
	}
	add(t, l, db, "again 1")
	ids, _ := drain(t, l, at, 10)
	want(t, ids, "again 1")
	_, err := db.Exec(`INSERT INTO log_messages (id, lane, topic, message_id, message_key, headers, payload)
		VALUES (1000, 0, 't', 'copied', 'k', '', 'x')`)
	require.NoError(t, err)
	ids, at = drain(t, l, at, 10)
	want(t, ids, "again 1", "copied")
	// Another lane, without such rows, is read from a floor.
	_, err = db.Exec(`INSERT INTO log_messages (lane, topic, message_id, message_key, headers, payload)
		VALUES (1, 't', 'elsewhere', 'k', '', 'x')`)
	require.NoError(t, err)
	entries, next, err := l.Read(t.Context(), 1, log.Position{}, 10)
	if err != nil || len(entries) != 1 || next.Floor == 0 {
		t.Errorf("read %d entries of another lane up to %+v (%v), want 1 and a floor", len(entries), next, err)
	}
	add(t, l, db, "again 2")
	ids, _ = drain(t, l, at, 10)
	want(t, ids, "again 2")
}

// Rows are passed over in a limited number of ids at a time, and once: here those of a writer
// that is still running, and a gap in the ids.
func TestReadPassesOverWhatIsNotYetThere(t *testing.T) {
	l, db := open(t)
	db.SetMaxOpenConns(8)
	writer := begin(t, db)
	fill(t, writer, "open", 2*firstSpan+10)
	add(t, l, db, "a")
	_, err := db.Exec(`SELECT setval('log_messages_ids', 1000000000000)`)
	require.NoError(t, err)
	add(t, l, db, "b")
	ids, at := read(t, l, log.Position{}, 10)
	want(t, ids, "a", "b")
	require.NoError(t, writer.Rollback())
	add(t, l, db, "c")
	ids, _ = drain(t, l, at, 10)
	want(t, ids, "c")
}

// A read that fails after it has passed over rows keeps its progress: the next one continues
// from there.
func TestFailedReadKeepsItsProgress(t *testing.T) {
	l, db := open(t)
	add(t, l, db, "a")
	_, err := db.Exec(`SELECT setval('log_messages_ids', 1000000000)`)
	require.NoError(t, err)
	add(t, l, db, "b")
	broken := Log{db: l.db, tables: l.tables, sql: l.sql}
	broken.sql.readWindow = variants{plain: `SELECT 1/0`, full: `SELECT 1/0`}
	ids, at := read(t, &broken, log.Position{}, 10)
	want(t, ids, "a")
	if at.To == "" || at.ID < firstSpan {
		t.Fatalf("the next read is to go on at %+v", at)
	}
	if _, _, err := broken.Read(t.Context(), 0, at, 10); err == nil {
		t.Fatal("a read that got nowhere returned no error")
	}
	ids, _ = drain(t, l, at, 10)
	want(t, ids, "b")
}

// The migration keeps a log of the previous release, with rows, a late transaction and a cursor
// within a window.
func TestMigrationCarriesOver(t *testing.T) {
	db := servicetest.Postgres(t)
	l, err := New(db, tables)
	require.NoError(t, err)
	set, err := l.Migrations()
	require.NoError(t, err)
	before := set
	first, err := fs.ReadFile(set.FS, "0001_log.sql")
	require.NoError(t, err)
	before.FS = fstest.MapFS{"0001_log.sql": {Data: first}}
	require.NoError(t, before.Up(t.Context(), db))
	// Rows of another table: a late transaction that is open during the migration.
	late := begin(t, db)
	_, err = late.Exec(`SELECT pg_current_xact_id()`)
	require.NoError(t, err)
	fill(t, db, "", 5)
	_, err = db.Exec(`INSERT INTO log_cursors (consumer, lane, system_id, window_to, window_end, last_id)
		SELECT 'c', 0, system_identifier, pg_current_snapshot(), 5, 3 FROM pg_control_system()`)
	require.NoError(t, err)
	require.NoError(t, set.Up(t.Context(), db))
	appendTo(t, l, late, "late")
	add(t, l, db, "new")
	commit(t, late)
	lease, err := l.Lease(t.Context(), log.Cursor{Consumer: "c"}, "me", time.Minute)
	require.NoError(t, err)
	ids, at := drain(t, l, lease.Position, 2)
	want(t, ids, "4", "5", "late", "new")
	var last int64
	if err := db.QueryRow(`SELECT max(id) FROM log_messages`).Scan(&last); err != nil || last != 7 || at.Floor != 7 {
		t.Errorf("the last of 7 rows has the id %d (%v), the position the floor %d", last, err, at.Floor)
	}
}
