package mysqllog

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logtest"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/servicetest"
)

var inside = sqllog.Tables{Messages: "log_messages", Cursors: "log_cursors", Package: "test"}

// hasty opens a log whose statements wait for a lock for at most 20 seconds.
func hasty(t testing.TB) (*Log, *sql.DB) {
	t.Helper()
	db, err := mysqldb.Open(servicetest.Chosen(t).URL(t) + "?innodb_lock_wait_timeout=20")
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	l, err := New(db, inside)
	require.NoError(t, err)
	logtest.Migrate(t, l, db)
	l.leap = dense
	_, err = l.Lease(t.Context(), log.Cursor{Consumer: "c", Lane: 1}, "me", time.Minute)
	require.NoError(t, err)
	return l, db
}

// dense leaves no places free, for tests that compare places.
func dense() int64 { return 0 }

func appendTo(t testing.TB, l *Log, x interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, n int,
) {
	t.Helper()
	entries := make([]log.Entry, n)
	for i := range entries {
		entries[i] = log.Entry{Lane: 1, Topic: "t", MessageID: fmt.Sprint(i), Key: "k"}
	}
	require.NoError(t, l.Append(t.Context(), x, entries))
}

// passArgs are the arguments of a pass over all rows of a look, with the last message.
func passArgs(v view, message string, add int64) []any {
	last := v.ids[len(v.ids)-1]
	return []any{list(v.ids), last, message, last + add + 1, add, 1, v.place, v.last.server}
}

// A pass whose list is outdated gives no places, and waits for the pass under way before it
// knows.
func TestStalePassGivesNothing(t *testing.T) { servicetest.EachMySQL(t, testStalePassGivesNothing) }

func testStalePassGivesNothing(t *testing.T, _ servicetest.MySQLServer) {
	l, db := hasty(t)
	appendTo(t, l, db, 3)
	v, err := l.look(t.Context(), 1, log.Position{}, l.unreadNow(), l.passSize())
	if err != nil || v.place != 1 || len(v.ids) != 3 {
		t.Fatalf("next place %d, %d rows without one, %v; want 1 and 3", v.place, len(v.ids), err)
	}
	if last, err := l.number(t.Context(), 1, log.Position{}); err != nil || last.place != 3 {
		t.Fatalf("numbered up to %+v, %v; want 3", last, err)
	}
	res, err := db.Exec(l.sql.number, passArgs(v, "2", v.place-v.ids[0])...)
	require.NoError(t, err)
	if n, err := res.RowsAffected(); n != 0 || err != nil {
		t.Errorf("a stale pass wrote %d rows, %v", n, err)
	}
	if n, err := l.place(t.Context(), 1, pass{view: v}, v.place+4, v.place-v.ids[0]); n != 0 || err != nil {
		t.Errorf("a stale pass over a range wrote %d rows, %v", n, err)
	}
	// A pass under way blocks the second at the lane's row.
	appendTo(t, l, db, 2)
	v, err = l.look(t.Context(), 1, log.Position{}, l.unreadNow(), l.passSize())
	if err != nil || v.place != 4 || len(v.ids) != 2 {
		t.Fatalf("next place %d, %d rows without one, %v; want 4 and 2", v.place, len(v.ids), err)
	}
	tx, err := db.Begin()
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // a test's end
	_, err = tx.Exec(l.sql.number, passArgs(v, "1", v.place-v.ids[0])...)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		last, err := l.number(t.Context(), 1, log.Position{})
		if err == nil && last.place != 5 {
			err = fmt.Errorf("it knows of places up to %+v, want 5", last)
		}
		ended <- err
	}()
	const waiting = `SELECT COUNT(*) FROM information_schema.processlist
		WHERE id <> CONNECTION_ID() AND db = DATABASE() AND info LIKE '%STRAIGHT_JOIN%'`
	for running := 0; running == 0; { // until the server runs the second pass
		require.NoError(t, db.QueryRow(waiting).Scan(&running))
		select {
		case err := <-ended:
			t.Fatalf("the second pass did not wait: %v", err)
		default:
		}
	}
	require.NoError(t, tx.Commit())
	assert.NoError(t, <-ended, "the second pass")
	var places int
	if err := db.QueryRow(`SELECT COUNT(DISTINCT seq) FROM log_messages WHERE seq BETWEEN 1 AND 5`).Scan(&places); err != nil || places != 5 {
		t.Errorf("%d different places for 5 rows, %v", places, err)
	}
}

// An uncommitted pass blocks no writer, at any isolation level, and uncommitted rows block no
// pass: not in a table so small that a full scan would be cheapest, and not in a larger one.
func TestPassAndAppendDoNotWait(t *testing.T) { servicetest.EachMySQL(t, testPassAndAppendDoNotWait) }

func testPassAndAppendDoNotWait(t *testing.T, _ servicetest.MySQLServer) {
	for _, rows := range []int{1, 10, passSize / 2} {
		for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
			t.Run(fmt.Sprint(rows, " ", level), func(t *testing.T) {
				l, db := hasty(t)
				before, err := db.Begin()
				require.NoError(t, err)
				defer before.Rollback() //nolint:errcheck // a test's end
				appendTo(t, l, before, 2)
				appendTo(t, l, db, rows)
				amid, err := db.Begin()
				require.NoError(t, err)
				defer amid.Rollback() //nolint:errcheck // a test's end
				appendTo(t, l, amid, 2)
				appendTo(t, l, db, rows)

				v, err := l.look(t.Context(), 1, log.Position{}, l.unreadNow(), l.passSize())
				if err != nil || len(v.ids) != 2*rows {
					t.Fatalf("%d rows without a place, %v; want %d", len(v.ids), err, 2*rows)
				}
				last := v.ids[len(v.ids)-1] + v.place - v.ids[0]
				pass, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
				require.NoError(t, err)
				defer pass.Rollback() //nolint:errcheck // a test's end
				res, err := pass.Exec(l.sql.number, passArgs(v, fmt.Sprint(rows-1), v.place-v.ids[0])...)
				require.NoError(t, err, "a pass beside open transactions")
				if n, err := res.RowsAffected(); int(n) != 2*rows+1 || err != nil {
					t.Errorf("the pass wrote %d rows, %v; want the lane's and %d", n, err, 2*rows)
				}
				appendTo(t, l, db, 2) // fails in the end if it waits for the pass
				appendTo(t, l, before, 1)
				appendTo(t, l, amid, 1)
				for what, tx := range map[string]*sql.Tx{"pass": pass, "first": before, "second": amid} {
					require.NoErrorf(t, tx.Commit(), "%s", what)
				}
				if b, err := l.number(t.Context(), 1, log.Position{}); err != nil || b.place < last {
					t.Errorf("numbered up to %+v, %v", b, err)
				}
				var left int
				if err := db.QueryRow(`SELECT COUNT(*) FROM log_messages WHERE seq = 0`).Scan(&left); err != nil || left != 0 {
					t.Errorf("%d rows have no place, %v", left, err)
				}
			})
		}
	}
}

// The same for a pass over rows without gaps, which is another statement on MySQL: open
// transactions wrote the rows before and behind them, and the id before them is inserted last.
func TestPassOverARangeDoesNotWait(t *testing.T) {
	servicetest.EachMySQL(t, testPassOverARangeDoesNotWait)
}

func testPassOverARangeDoesNotWait(t *testing.T, _ servicetest.MySQLServer) {
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
		t.Run(level.String(), func(t *testing.T) {
			l, db := hasty(t)
			before, behind := open(t, db), open(t, db)
			appendTo(t, l, before, 2)
			appendTo(t, l, db, 100)
			appendTo(t, l, behind, 2)
			v, err := l.look(t.Context(), 1, log.Position{}, l.unreadNow(), l.passSize())
			if err != nil || len(v.ids) != 100 {
				t.Fatalf("%d rows without a place, %v; want 100", len(v.ids), err)
			}
			late := v.ids[0] - 1
			_, err = before.Exec(`DELETE FROM log_messages WHERE id = ?`, late)
			require.NoError(t, err)
			tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
			require.NoError(t, err)
			defer tx.Rollback() //nolint:errcheck // a test's end
			query, args := l.placing(1, pass{view: v}, v.place+100, v.place-v.ids[0])
			res, err := tx.Exec(query, args...)
			require.NoError(t, err, "a pass between open transactions")
			if n, err := res.RowsAffected(); n != 101 || err != nil {
				t.Errorf("the pass wrote %d rows, %v; want the lane's and 100", n, err)
			}
			// These fail in the end if they wait for the pass.
			appendTo(t, l, db, 2)
			appendTo(t, l, before, 1)
			appendTo(t, l, behind, 1)
			_, err = before.Exec(`INSERT INTO log_messages (id, lane, topic, message_id, message_key, headers, payload)
				VALUES (?, 1, 'topic', 'late', '', '', '')`, late)
			assert.NoError(t, err, "an id before the range")
			for _, tx := range []*sql.Tx{tx, before, behind} {
				require.NoError(t, tx.Commit())
			}
			_, err = l.number(t.Context(), 1, log.Position{})
			require.NoError(t, err)
			var left int
			if err := db.QueryRow(`SELECT COUNT(*) FROM log_messages WHERE seq = 0`).Scan(&left); err != nil || left != 0 {
				t.Errorf("%d rows have no place, %v", left, err)
			}
		})
	}
}

func open(t testing.TB, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.Begin()
	require.NoError(t, err)
	t.Cleanup(func() { tx.Rollback() }) //nolint:errcheck // a test's end
	return tx
}

// A pass that ends in a deadlock with another reader's pass looks again.
func TestPassesThatDeadlock(t *testing.T) { servicetest.EachMySQL(t, testPassesThatDeadlock) }

func testPassesThatDeadlock(t *testing.T, _ servicetest.MySQLServer) {
	l, db := hasty(t)
	appendTo(t, l, db, 20)
	// The other reader has locked a row of the list and then requests the lane, like a reader
	// whose list begins there. It has changed more, so that it is not the victim.
	_, err := db.Exec(`CREATE TABLE weight (n INT)`)
	require.NoError(t, err)
	other := open(t, db)
	_, err = other.Exec(`INSERT INTO weight SELECT 1 FROM log_messages AS a, log_messages AS b`)
	require.NoError(t, err)
	_, err = other.Exec(`UPDATE log_messages SET seq = 1000 ORDER BY id DESC LIMIT 1`)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { _, err := l.number(t.Context(), 1, log.Position{}); ended <- err }()
	const waiting = `SELECT COUNT(*) FROM information_schema.innodb_trx AS t JOIN information_schema.processlist AS p
		ON p.id = t.trx_mysql_thread_id WHERE t.trx_state = 'LOCK WAIT' AND p.db = DATABASE()`
	// The server refreshes this table once in 100 ms, and not while it is queried more often.
	for n := 0; n == 0; {
		select {
		case err := <-ended:
			t.Fatalf("the pass did not wait: %v", err)
		case <-time.After(150 * time.Millisecond):
		}
		require.NoError(t, db.QueryRow(waiting).Scan(&n))
	}
	_, err = other.Exec(`UPDATE log_messages_lanes SET next_seq = 1001 WHERE lane = 1`)
	require.NoError(t, err, "the other reader")
	require.NoError(t, other.Commit())
	assert.NoError(t, <-ended, "the pass")
	var places int
	if err := db.QueryRow(`SELECT COUNT(DISTINCT seq) FROM log_messages WHERE seq > 0`).Scan(&places); err != nil || places != 20 {
		t.Errorf("%d different places for 20 rows, %v", places, err)
	}
}

func TestPlansUseTheIndexes(t *testing.T) { servicetest.EachMySQL(t, testPlansUseTheIndexes) }

func testPlansUseTheIndexes(t *testing.T, _ servicetest.MySQLServer) {
	l, db := hasty(t)
	const rows = 4000
	for range 5 {
		appendTo(t, l, db, rows)
	}
	made, err := l.numberAndRead(t.Context(), 1, log.Position{}, passSize, passSize, nil)
	require.NoError(t, err)
	v, err := l.look(t.Context(), 1, log.Position{}, l.unreadNow(), l.passSize())
	if err != nil || len(v.ids) != l.passSize() {
		t.Fatalf("%d rows without a place, %v; want %d", len(v.ids), err, l.passSize())
	}
	b, ids, here := made.end, v.ids, v.last.server
	spans := unread{spans: []span{{3, 7}, {100, 200}, {300, math.MaxInt64}}}.args()
	tail := unread{spans: []span{{0, 0}, {b.row + 1, math.MaxInt64}}}.args() // if no id is missing
	inRange, rangeArgs := l.placing(1, pass{view: v}, b.place, 1)
	statements := map[string]struct {
		text string
		args []any
		key  string
	}{
		"pending":     {l.sql.pending, append(append([]any{1, 500, 500, 500, 500, 1, 500, 500, 500, 1, 0, 1}, spans...), 1000), "log_messages_lane"},
		"whole":       {l.sql.pendingWhole, append(append([]any{1, 500, 500, 500, 500, 1, 500, 500, 500, 1, 0, 1}, spans...), 1000), "log_messages_lane"},
		"again":       {l.sql.pendingAgain, append(append([]any{1}, spans...), ids[len(ids)-1], here), "log_messages_lane"},
		"rows":        {l.sql.pendingRows, append(append([]any{1}, spans...), ids[len(ids)-1], here), "log_messages_lane"},
		"again, tail": {l.sql.pendingAgain, append(append([]any{1}, tail...), ids[len(ids)-1], here), "log_messages_lane"},
		"rows, tail":  {l.sql.pendingRows, append(append([]any{1}, tail...), ids[len(ids)-1], here), "log_messages_lane"},
		"read":        {l.sql.read, []any{1, 500, b.place, here, b.row, b.place, 500, 500, 500, 500, 1, 1000}, "log_messages_lane"},
		"number":      {l.sql.number, passArgs(v, "2047", 1), "PRIMARY"},
		"range":       {inRange, rangeArgs, "PRIMARY"},
		"delete":      {l.sql.delete, []any{list(ids)}, "PRIMARY"},
		"old":         {l.sql.old, []any{0, 1, 1, 900, 100}, "log_messages_lane"},
		"backlog":     {l.sql.backlog, []any{1, 500, 1000, 1, 1000, 1, 500, 1}, "log_messages_lane"},
		"tip":         {l.sql.tip, []any{1, 1}, "log_messages_lane"},
		"row at":      {l.sql.rowAt, []any{1, 500}, "log_messages_lane"},
	}
	for _, statistics := range []string{"fresh", "of an empty table"} {
		remember(t, db, statistics == "fresh")
		for name, q := range statements {
			found := false
			for _, step := range explain(t, db, q.text, q.args) {
				if step["table"] != "m" && step["table"] != "log_messages" {
					continue
				}
				found = true
				if step["key"] != q.key || step["type"] == "index" || strings.Contains(step["Extra"], "filesort") {
					t.Errorf("with statistics %s %q uses %q on %s (%s, %s), want %s, no scan of it and no sort",
						statistics, name, step["key"], step["table"], step["type"], step["Extra"], q.key)
				}
			}
			assert.Truef(t, found, "%s: the plan does not name the table", name)
		}
	}
}

// remember makes the server plan with fresh statistics of the table, or with those of the empty
// table, which it keeps for a while, and for ever where innodb_stats_auto_recalc is off.
func remember(t testing.TB, db *sql.DB, fresh bool) {
	t.Helper()
	statements := []string{`ANALYZE TABLE log_messages`}
	if !fresh {
		const of = ` WHERE database_name = DATABASE() AND table_name = 'log_messages'`
		statements = []string{
			`UPDATE mysql.innodb_index_stats SET stat_value = IF(stat_name LIKE 'n_diff%', 0, 1)` + of,
			`UPDATE mysql.innodb_table_stats SET n_rows = 0` + of,
			`FLUSH TABLES log_messages`,
		}
	}
	for _, s := range statements {
		_, err := db.Exec(s)
		require.NoError(t, err)
	}
}

// BenchmarkPass gives places to rows of 500 bytes, 4,096 at a time, without a reader: the upper
// limit of a drain.
func BenchmarkPass(b *testing.B) {
	l, db := hasty(b)
	l.pass.Store(passMost)
	payload := make([]byte, 500)
	var took time.Duration
	for range b.N {
		entries := make([]log.Entry, passMost)
		for i := range entries {
			entries[i] = log.Entry{Lane: 1, Topic: "topic", MessageID: fmt.Sprintf("0198c0de-0000-7000-8000-%012d", i), Key: fmt.Sprint(i), Payload: payload}
		}
		if err := l.Append(b.Context(), db, entries); err != nil {
			b.Fatal(err)
		}
		v, err := l.look(b.Context(), 1, log.Position{}, l.unreadNow(), passMost)
		if err != nil || len(v.ids) != passMost {
			b.Fatalf("%d rows without a place, %v", len(v.ids), err)
		}
		args := passArgs(v, entries[passMost-1].MessageID, v.place-v.ids[0])
		start := time.Now()
		if _, err := db.Exec(l.sql.number, args...); err != nil {
			b.Fatal(err)
		}
		took += time.Since(start)
	}
	b.ReportMetric(float64(took.Microseconds())/float64(b.N*passMost), "µs/row")
}

// explain returns the steps of a plan, by column.
func explain(t testing.TB, db *sql.DB, query string, args []any) []map[string]string {
	t.Helper()
	rows, err := db.Query("EXPLAIN FORMAT=TRADITIONAL "+query, args...)
	require.NoError(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	var steps []map[string]string
	for rows.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		require.NoError(t, rows.Scan(into...))
		step := map[string]string{}
		for i, c := range columns {
			step[c] = values[i].String
		}
		steps = append(steps, step)
	}
	require.NoError(t, rows.Err())
	return steps
}

// A watcher notices a lane that is read so quickly that it never finds a row without a place: it
// polls often as long as that goes on.
func TestCompare(t *testing.T) {
	for name, tc := range map[string]struct {
		now, seen    tip
		moved, fresh bool
	}{
		"nothing":                       {now: tip{5, 0}, seen: tip{5, 0}},
		"something came":                {now: tip{5, 9}, seen: tip{5, 0}, fresh: true},
		"something further came":        {now: tip{5, 12}, seen: tip{5, 9}, fresh: true},
		"it is still there":             {now: tip{5, 9}, seen: tip{5, 9}},
		"some of it was read":           {now: tip{7, 9}, seen: tip{5, 9}},
		"it was read":                   {now: tip{7, 0}, seen: tip{5, 9}, moved: true},
		"it came and was read":          {now: tip{7, 0}, seen: tip{5, 0}, moved: true},
		"it was read, and another came": {now: tip{7, 10}, seen: tip{5, 9}, fresh: true},
	} {
		moved, fresh := compare(map[int]tip{1: tc.now}, map[int]tip{1: tc.seen})
		if moved != tc.moved || fresh != tc.fresh {
			t.Errorf("%s: moved %v, fresh %v; want %v, %v", name, moved, fresh, tc.moved, tc.fresh)
		}
	}
}
