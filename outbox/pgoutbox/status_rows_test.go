package pgoutbox_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log/pglog"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/internal/storetest"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

func TestStatusRows(t *testing.T) { database.StatusRows(t) }

// TestStatusMarksTouchNoIndex proves that marking is a HOT update: the primary
// key gets no second entry for any row.
func TestStatusMarksTouchNoIndex(t *testing.T) {
	store, db := openStatus(t, pgoutbox.Config{})
	for n := range 20 {
		events := make([]event.Event, 250)
		for i := range events {
			events[i] = storetest.Event(t, fmt.Sprint("key-", i), n+1)
		}
		storetest.Append(t, db, store, events...)
	}
	size := func() (n int64) {
		t.Helper()
		err := db.QueryRowContext(t.Context(), `SELECT pg_indexes_size('outbox_events')`).Scan(&n)
		require.NoError(t, err)
		return n
	}
	before := size()
	relay, err := outbox.NewRelay(store, discard{}, outbox.RelayConfig{})
	require.NoError(t, err)
	require.NoError(t, relay.Drain(storetest.Within(t, 30*time.Second)))
	if after := size(); after != before {
		t.Errorf("marking 5000 events grew the indexes from %d to %d bytes", before, after)
	}
}

func TestStatusRefusesOtherIDs(t *testing.T) {
	store, db := openStatus(t, pgoutbox.Config{})
	box, err := outbox.New(store, outbox.Config{Topic: "events"})
	require.NoError(t, err)
	for _, id := range []string{"e-1", "0192F0C1-2B3C-7D4E-8F50-61728394A5B6"} {
		e := storetest.Event(t, "a", 1)
		e.ID = id
		err := storetest.InTx(db)(t.Context(), func(ctx context.Context, tx sqltx.Execer) error { return box.Append(ctx, tx, e) })
		if err == nil || fault.Of(err) != fault.Permanent || !strings.Contains(err.Error(), "UUID") {
			t.Errorf("appending an event with the id %q returned %v, want a permanent error about UUIDs", id, err)
		}
	}
	assert.NoError(t, box.Close(t.Context()))
}

// TestStatusPlans asks the planner for its plans with much history, with few rows and without
// statistics: all of them only walk an index.
func TestStatusPlans(t *testing.T) {
	_, db := openStatus(t, pgoutbox.Config{})
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	exec := func(query string) {
		t.Helper()
		_, err := conn.ExecContext(t.Context(), query)
		require.NoError(t, err, "%s", query)
	}
	fill := `INSERT INTO outbox_events (shard, topic, id, event_key, headers, payload, event_type, aggregate_type, aggregate_id, state)
		SELECT 0, 'events', gen_random_uuid(), 'key', '', repeat('x', 300)::bytea, '', '', '', `
	ids := "ARRAY[" + strings.TrimSuffix(strings.Repeat("25000,25001,", 500), ",") + "]::bigint[]"
	uuids := "array_fill(gen_random_uuid(), ARRAY[1000])"
	// The primary key begins with the shard: without it a row is searched in the whole index.
	rows := map[string]string{
		"settle_range": "0, 1, 1000000, '', 25000, 25001, " + ids + ", " + uuids,
		"publish":      "0, " + ids + ", " + uuids,
		"fail":         "0, 25000, true, 1, 0, 0, '', 0, gen_random_uuid()",
		"park":         "0, 25000, 1, 0, 0, '', gen_random_uuid()",
	}
	plans := map[string]string{
		"settle":      "0, 1, 1000000, '', " + ids + ", " + uuids,
		"prune_chunk": "0, now(), 500, 20000",
		"prune_late":  "0, now(), 500, 20000, '{700,701}'",
		"ahead":       "0",
	}
	// The reads of a relay near the end of a window, and after it, as if the first transaction
	// had been running then.
	reads := map[string]string{
		"open_window": "0, 'NOW', HIGHEST, 10, 100000, ''",
		"read_window": "0, 'FIRST', 'SNAPSHOT', 0, 29990, 30000, 10, ''",
		"backlog":     "0, 10, 'NOW', '{FIRST,NOW}', 'FIRST', '{FIRST}', 'SNAPSHOT', 0, 29990, 30000",
	}
	maps.Copy(plans, rows)
	sharded := regexp.MustCompile(` on outbox_events(_\w+)? .*\n *Index Cond: \(.*shard = `)
	scan := regexp.MustCompile(`Seq Scan on outbox_events |Sort Key: (outbox_events\.)?seq`)
	touched := regexp.MustCompile(`Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?`)
	text := func(name string, full bool) string {
		t.Helper()
		raw, err := os.ReadFile("sql/status/" + name + ".sql")
		require.NoError(t, err)
		parsed, err := template.New(name).Funcs(template.FuncMap{
			"server": func() string { return pglog.Server }, "running": func() string { return pglog.Running }, "full": func() bool { return full },
		}).Parse(string(raw))
		require.NoError(t, err)
		var out strings.Builder
		require.NoError(t, parsed.Execute(&out, nil))
		return out.String()
	}
	explain := func(explain, text, args string) (plan string) {
		t.Helper()
		exec(`PREPARE p AS ` + text)
		defer exec(`DEALLOCATE p`)
		rows, err := conn.QueryContext(t.Context(), explain+` EXECUTE p (`+args+`)`)
		require.NoError(t, err)
		defer rows.Close()
		for rows.Next() {
			var line string
			require.NoError(t, rows.Scan(&line))
			plan += line + "\n"
		}
		require.NoError(t, rows.Err())
		return plan
	}
	var first, now, snapshot string
	var highest int
	check := func(state, mode string, pages int) {
		t.Helper()
		exec(`SET plan_cache_mode = ` + mode)
		for name, args := range plans {
			if plan := explain(`EXPLAIN`, text(name, true), args); scan.MatchString(plan) {
				t.Errorf("%s, %s: %s scans or sorts the table:\n%s", state, mode, name, plan)
			} else if _, ok := rows[name]; ok && !sharded.MatchString(plan) {
				t.Errorf("%s, %s: %s searches all shards:\n%s", state, mode, name, plan)
			}
		}
		for name, args := range reads {
			for _, full := range []bool{false, true} {
				args := strings.NewReplacer("FIRST", first, "NOW", now, "SNAPSHOT", snapshot, "HIGHEST", strconv.Itoa(highest)).Replace(args)
				if full && name != "backlog" {
					args += ", '{" + first + "," + now + "}'"
				}
				plan := explain(`EXPLAIN (ANALYZE, BUFFERS)`, text(name, full), args)
				n := 0
				for _, s := range touched.FindStringSubmatch(plan)[1:] {
					more, _ := strconv.Atoi(s)
					n += more
				}
				if strings.Contains(plan, "Seq Scan on outbox_events ") || n > pages {
					t.Errorf("%s, %s: %s reads %d pages, want %d at most:\n%s", state, mode, name, n, pages, plan)
				}
			}
		}
	}
	look := func() {
		t.Helper()
		require.NoError(t, conn.QueryRowContext(t.Context(), `SELECT min(xid), pg_snapshot_xmax(pg_current_snapshot()), pg_current_snapshot(), max(seq) FROM outbox_events`).
			Scan(&first, &now, &snapshot, &highest))
	}
	exec(fill + `'PENDING' FROM generate_series(1, 5)`)
	exec(fill + `'PUBLISHED' FROM generate_series(1, 30000)`)
	exec(fill + `'PENDING' FROM generate_series(1, 100)`)
	look()
	check("no statistics", "force_custom_plan", 100)
	exec(`ANALYZE outbox_events`)
	check("much history", "force_custom_plan", 100)
	check("much history", "force_generic_plan", 100)
	exec(fill + `'PENDING' FROM generate_series(1, 30000)`)
	look()
	check("stale statistics", "force_custom_plan", 100)
	exec(`ANALYZE outbox_events`)
	check("much backlog", "force_custom_plan", 100)
	check("much backlog", "force_generic_plan", 100)
}

func TestStatusPrintedMigrations(t *testing.T) {
	db := servicetest.Postgres(t)
	store, err := pgoutbox.New(db, pgoutbox.Config{Status: true})
	require.NoError(t, err)
	var script strings.Builder
	require.NoError(t, store.PrintMigrations(&script))
	_, err = db.ExecContext(t.Context(), script.String())
	require.NoError(t, err)
	if err := store.Migrate(t.Context()); err != nil { // finds no work
		t.Fatal(err)
	}
	// Both kinds of stores may be in one schema, for a team that moves from one to the other.
	cursor, err := pgoutbox.New(db, pgoutbox.Config{})
	require.NoError(t, err)
	assert.NoError(t, cursor.Migrate(t.Context()))
}

// TestStatusByHand sets a published row back as the package's doc describes.
func TestStatusByHand(t *testing.T) {
	store, db := openStatus(t, pgoutbox.Config{})
	e := storetest.Event(t, "a", 1)
	storetest.Append(t, db, store, e, storetest.Event(t, "b", 1))
	pub := &outboxtest.Publisher{}
	relay, err := outbox.NewRelay(store, pub, outbox.RelayConfig{})
	require.NoError(t, err)
	drain := func(want int) {
		t.Helper()
		require.NoError(t, relay.Drain(storetest.Within(t, 20*time.Second)))
		require.Len(t, pub.Published(), want, "events were published")
	}
	drain(2)
	_, err = db.ExecContext(t.Context(), `UPDATE outbox_events SET state = 'PENDING', published = false, published_at = NULL,
		seq = DEFAULT, xid = DEFAULT WHERE id = $1`, e.ID)
	require.NoError(t, err)
	drain(3)
	if got := pub.Published(); got[2].Event.ID != e.ID {
		t.Errorf("published %s again, want %s", got[2].Event.ID, e.ID)
	}
	drain(3)
}
