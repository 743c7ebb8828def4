package pglog

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/sqllog"
)

// wantBacklog compares the backlog with what a reader behind the cursor reads.
func wantBacklog(t *testing.T, l *Log, c sqllog.Cursor, at sqllog.Position, want int) {
	t.Helper()
	n, oldest, err := l.Backlog(t.Context(), c, 100)
	if err != nil || n != want || oldest.IsZero() != (want == 0) {
		t.Errorf("the backlog is %d, oldest %v (%v), want %d", n, oldest, err, want)
	}
	read := 0
	for {
		page, next, err := l.Read(t.Context(), c.Lane, at, 3)
		if err != nil {
			t.Fatal(err)
		}
		read += len(page)
		if len(page) == 0 && next == at || next.To == "" && len(page) == 0 {
			break
		}
		at = next
	}
	if read != want {
		t.Errorf("%d entries are read behind the cursor, want %d", read, want)
	}
}

// What a transaction wrote that was open when the window was is counted once, and
// so are the rest of a window and what came after it.
func TestBacklogAroundAWindow(t *testing.T) {
	l, db := open(t)
	db.SetMaxOpenConns(8)
	c := sqllog.Cursor{Consumer: "c"}
	lease, err := l.Lease(t.Context(), c, "me", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	early := begin(t, db)
	appendTo(t, l, early, "early")
	add(t, l, db, "1", "2", "3")
	page, _, err := l.Read(t.Context(), 0, lease.Position, 10)
	if err != nil || len(page) != 3 {
		t.Fatalf("read %d entries (%v), want 3", len(page), err)
	}
	late := begin(t, db)
	appendTo(t, l, late, "late")
	stand := func(at sqllog.Position) sqllog.Position {
		if err := l.Advance(t.Context(), lease, at, time.Minute, nil); err != nil {
			t.Fatal(err)
		}
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

// Looking at a backlog reads what is in it and not the log, whether the statement
// is planned for its values or for any, and though transactions are open that
// began before all of it.
func TestBacklogReadsNoMoreThanIsThere(t *testing.T) {
	l, db := open(t)
	db.SetMaxOpenConns(8)
	for range 3 {
		if _, err := begin(t, db).ExecContext(t.Context(), `SELECT pg_current_xact_id()`); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec(`INSERT INTO log_messages (lane, topic, message_id, message_key, headers, payload)
		SELECT 0, 't', g::text, 'k', '', 'x' FROM generate_series(1, 20000) AS g`); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`ANALYZE log_messages`); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`INSERT INTO log_cursors (consumer, lane, system_id, window_from)
		VALUES ('behind all', 0, 0, pg_current_snapshot())`); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`INSERT INTO log_cursors (consumer, lane, system_id, window_to, window_end, last_id)
		VALUES ('near the end', 0, 0, pg_current_snapshot(), 20000, 19990)`); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		for consumer, waiting := range map[string]int{"behind all": 0, "near the end": 10} {
			plan := explain(t, db, mode, l.sql.backlog, consumer)
			if strings.Contains(plan, "Seq Scan on log_messages") || strings.Contains(plan, "Rows Removed") {
				t.Errorf("%s, %s: the whole log is read:\n%s", mode, consumer, plan)
			}
			if n, _, err := l.Backlog(t.Context(), sqllog.Cursor{Consumer: consumer}, 100_000); n != waiting || err != nil {
				t.Errorf("%s: the backlog is %d (%v), want %d", consumer, n, err, waiting)
			}
		}
	}
}

// explain runs a statement for a backlog and returns its plan.
func explain(t *testing.T, db *sql.DB, mode, statement, consumer string) string {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, q := range []string{`SET plan_cache_mode = ` + mode, `PREPARE looked_at (text, integer, integer) AS ` + statement} {
		if _, err := conn.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		if _, err := conn.ExecContext(context.WithoutCancel(t.Context()), `DEALLOCATE looked_at`); err != nil {
			t.Error(err)
		}
	}()
	rows, err := conn.QueryContext(t.Context(), fmt.Sprintf(`EXPLAIN (ANALYZE) EXECUTE looked_at ('%s', 0, 100000)`, consumer))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(line + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}
