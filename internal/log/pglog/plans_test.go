package pglog

import (
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log"
)

var touched = regexp.MustCompile(`Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?`)

// explain runs a prepared statement, rolls it back, and returns its plan and the number of pages
// it read.
func explain(t testing.TB, db *sql.DB, mode, statement string, args []any) (plan string, pages int) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer tx.Rollback()
	for _, q := range []string{`SET LOCAL plan_cache_mode = ` + mode, `PREPARE looked_at AS ` + statement} {
		_, err := tx.ExecContext(t.Context(), q)
		require.NoError(t, err)
	}
	execute := `EXPLAIN (ANALYZE, BUFFERS) EXECUTE looked_at`
	if len(args) > 0 {
		literals := make([]string, len(args))
		for i, a := range args {
			if at, ok := a.(time.Time); ok {
				a = at.Format(time.RFC3339Nano)
			}
			literals[i] = fmt.Sprintf("'%v'", a)
		}
		execute += ` (` + strings.Join(literals, ", ") + `)`
	}
	rows, err := tx.QueryContext(t.Context(), execute)
	require.NoError(t, err)
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		plan += line + "\n"
	}
	require.NoError(t, rows.Err())
	_, err = tx.ExecContext(t.Context(), `DEALLOCATE looked_at`)
	require.NoError(t, err)
	m := touched.FindStringSubmatch(plan) // the first line is the whole statement's
	if m == nil {
		t.Fatalf("no pages are counted:\n%s", plan)
	}
	for _, n := range m[1:] {
		more, _ := strconv.Atoi(n) // "" is none
		pages += more
	}
	return plan, pages
}

// Each statement of a reader passes over only the rows it returns, for any content of the table and
// any statistics of the planner: over 100,000 retained rows, with open transactions that began
// before all of them, with one that committed since, and in the middle of a backlog.
func TestPlansUseTheIndexes(t *testing.T) {
	l, db := open(t)
	db.SetMaxOpenConns(16)
	for range 3 {
		appendTo(t, l, begin(t, db), "open")
	}
	late := begin(t, db)
	appendTo(t, l, late, "late 1", "late 2")
	fill(t, db, "r", 100_000)
	opened, from, err := l.Read(t.Context(), 0, log.Position{}, 50_000)
	if err != nil || len(opened) != 50_000 {
		t.Fatalf("read %d rows (%v)", len(opened), err)
	}
	rest, end, err := l.Read(t.Context(), 0, from, 60_000)
	if err != nil || len(rest) != 50_000 {
		t.Fatalf("read %d rows (%v)", len(rest), err)
	}
	commit(t, late)
	add(t, l, db, "new 1", "new 2")
	first, within, err := l.Read(t.Context(), 0, end, 1)
	if err != nil || len(first) != 1 || first[0].MessageID != "late 1" {
		t.Fatalf("read %v (%v), want the first row of the late transaction", first, err)
	}
	floorless := end
	floorless.Floor = 0

	type statement struct {
		text string
		args []any
		at   log.Position
	}
	const pages = 10
	statements := map[string]statement{}
	opening := func(name string, at log.Position) {
		w, err := windowAt(at)
		require.NoError(t, err)
		text, args := l.sql.openWindow.with([]any{0, w.since.first, w.floor, pages, firstSpan, ""}, &w)
		statements[name] = statement{text, args, at}
	}
	reading := func(name string, at log.Position) {
		w, err := windowAt(at)
		require.NoError(t, err)
		text, args := l.sql.readWindow.with([]any{0, w.since.first, w.to, w.floor, w.last, w.end, pages, ""}, &w)
		statements[name] = statement{text, args, at}
		statements[name+", whole text"] = statement{l.sql.readWindow.full, append([]any{0, w.since.first, w.to, w.floor, w.last, w.end, pages, ""}, w.since.running), at}
	}
	behind := func(name string, at log.Position) {
		args, err := Behind(at)
		require.NoError(t, err)
		statements[name] = statement{l.sql.backlog, append([]any{0, pages}, args...), at}
	}
	opening("open a backlog", log.Position{})
	opening("open", end)
	opening("open without a floor", floorless)
	reading("read on in a backlog", from)
	reading("read on at a late row", within)
	behind("backlog", log.Position{})
	behind("backlog of a window", from)
	behind("backlog at the end", end)
	behind("backlog at a late row", within)
	statements["ahead"] = statement{l.sql.ahead, []any{0}, log.Position{}}
	for _, known := range []string{"nothing", "everything"} {
		if known == "everything" {
			_, err := db.Exec(`ANALYZE log_messages`)
			require.NoError(t, err)
		}
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			for name, s := range statements {
				plan, n := explain(t, db, mode, s.text, s.args)
				// Some 10 rows, and the descent through 3 levels of an index for each range: one of
				// each transaction that was running, also those of other users of the server.
				ranges := 3 + strings.Count(s.at.From, ",") + strings.Count(s.at.To, ",")
				if n > 39+3*max(7, ranges) || strings.Contains(plan, "Seq Scan on log_messages ") {
					t.Errorf("%s, %s, knowing %s of the table: %d pages are read:\n%s", name, mode, known, n, plan)
				}
			}
		}
	}
}

// A backlog above all ids in the planner's statistics is read by index, and not sorted.
func TestPlansWithOldStatistics(t *testing.T) {
	l, db := open(t)
	_, err := db.Exec(`ALTER TABLE log_messages SET (autovacuum_enabled = off)`)
	require.NoError(t, err)
	fill(t, db, "known", 2_000)
	_, err = db.Exec(`ANALYZE log_messages`)
	require.NoError(t, err)
	fill(t, db, "new", 50_000)
	_, at, err := l.Read(t.Context(), 0, log.Position{}, 10_000)
	require.NoError(t, err)
	w, err := windowAt(at)
	require.NoError(t, err)
	args := []any{0, w.since.first, w.to, w.floor, w.last, w.end, 1_000, ""}
	for text, args := range map[string][]any{l.sql.readWindow.plain: args, l.sql.readWindow.full: append(args, "{5,6}")} {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			if plan, n := explain(t, db, mode, text, args); n > 60 {
				t.Errorf("%s: 1,000 rows are read from %d pages:\n%s", mode, n, plan)
			}
		}
	}
}

// A plan made for an empty table, and cached, works for a full one.
func TestPlansMadeForAnEmptyTable(t *testing.T) {
	l, db := open(t)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	for _, q := range []string{`SET plan_cache_mode = force_generic_plan`, `PREPARE counted AS ` + l.sql.backlog, `PREPARE waiting AS ` + l.sql.ahead,
		`PREPARE opened AS ` + l.sql.openWindow.full, `PREPARE read_on AS ` + l.sql.readWindow.full} {
		_, err := conn.ExecContext(t.Context(), q)
		require.NoError(t, err)
	}
	for _, q := range []string{`counted (0, 10, '1', '{}', '1', '{}', '1:1:', 0, 0, 0)`, `waiting (0)`,
		`opened (0, '1', 0, 10, 1000, '', '{5}')`, `read_on (0, '1', '1:1:', 0, 0, 10, 10, '', '{5}')`} {
		rows, err := conn.QueryContext(t.Context(), `EXPLAIN EXECUTE `+q)
		require.NoError(t, err)
		for rows.Next() {
			var line string
			require.NoError(t, rows.Scan(&line))
			assert.NotContainsf(t, line, "Seq Scan on log_messages ", "%s: %s", q, line)
		}
		require.NoError(t, rows.Err())
	}
}
