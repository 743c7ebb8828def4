package pgoutbox_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/log/pglog"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/storetest"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
)

// hold keeps a snapshot of the present until the test ends.
func hold(t *testing.T, db *sql.DB) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	require.NoError(t, err)
	t.Cleanup(func() { tx.Rollback() })
	_, err = tx.ExecContext(t.Context(), `SELECT 1`)
	require.NoError(t, err)
}

var touched = regexp.MustCompile(`Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?`)

// explained runs a statement of the status store, rolls it back, and returns how many pages it
// read.
func explained(t *testing.T, db *sql.DB, name string, args ...any) (n int) {
	t.Helper()
	text, err := os.ReadFile("sql/status/" + name + ".sql")
	require.NoError(t, err)
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer tx.Rollback()
	full := strings.NewReplacer("{{server}}", pglog.Server, "{{running}}", pglog.Running).Replace(string(text))
	_, err = tx.ExecContext(t.Context(), "PREPARE looked_at AS "+full)
	require.NoError(t, err, "%s", name)
	defer tx.ExecContext(t.Context(), "DEALLOCATE looked_at")
	execute := "EXPLAIN (ANALYZE, BUFFERS) EXECUTE looked_at"
	if len(args) > 0 {
		execute += " (" + strings.Join(texts(args), ", ") + ")"
	}
	rows, err := tx.QueryContext(t.Context(), execute)
	require.NoErrorf(t, err, "%s", name)
	var plan strings.Builder
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		plan.WriteString(line + "\n")
	}
	require.NoError(t, rows.Err())
	m := touched.FindStringSubmatch(plan.String()) // the first line is the total of the statement
	if m == nil {
		t.Fatalf("%s: the plan has no buffers:\n%s", name, &plan)
	}
	for _, s := range m[1:] {
		more, _ := strconv.Atoi(s)
		n += more
	}
	return n
}

func texts(args []any) (out []string) {
	for _, arg := range args {
		out = append(out, fmt.Sprint(arg))
	}
	return out
}

// extend extends the lease several times.
func extend(t *testing.T, store driver.Store, l driver.Lease, times int) {
	t.Helper()
	for range times {
		require.NoError(t, store.Settle(t.Context(), l, driver.Settlement{TTL: time.Hour}))
	}
}

func lease(t *testing.T, store driver.Store, holder string) driver.Lease {
	t.Helper()
	l, err := store.Lease(t.Context(), 0, holder, time.Hour)
	require.NoError(t, err)
	return l
}

// TestStatusProgressIsSwept: old progress rows are deleted as new ones are added; a held
// snapshot keeps all of them.
func TestStatusProgressIsSwept(t *testing.T) {
	store, db := openStatus(t, pgoutbox.Config{})
	l := lease(t, store, "me")
	left := func() (n int) {
		t.Helper()
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM outbox_event_progress`).Scan(&n))
		return n
	}
	extend(t, store, l, 1000)
	if n := left(); n > 2*64+8 {
		t.Errorf("%d rows are left after 1,000 settles", n)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer tx.Rollback()
	_, err = tx.ExecContext(t.Context(), `SELECT 1 FROM outbox_event_progress ORDER BY n DESC LIMIT 1 FOR KEY SHARE`)
	require.NoError(t, err)
	extend(t, store, l, 300)
	if n := left(); n < 300 {
		t.Errorf("%d rows are left beside a transaction that holds one of them", n)
	}
	require.NoError(t, tx.Rollback())
	extend(t, store, l, 128)
	if n := left(); n > 2*64+8 {
		t.Errorf("%d rows are left after that transaction ended", n)
	}
}

// TestStatusSettlesBesideAHeldSnapshot: while a session holds its snapshot, no row version can
// be removed. A settle must not read the versions that earlier ones have left.
func TestStatusSettlesBesideAHeldSnapshot(t *testing.T) {
	store, db := openStatus(t, pgoutbox.Config{})
	l := lease(t, store, "me")
	hold(t, db)
	first := explained(t, db, "extend", 0, l.Token, 1_000_000, "''")
	extend(t, store, l, 3000)
	for name, args := range map[string][]any{
		"extend":       {0, l.Token, 1_000_000, "''"},
		"settle":       {0, l.Token, 1_000_000, "''", "'{}'", "'{}'"},
		"settle_range": {0, l.Token, 1_000_000, "''", 1, 2, "'{}'", "'{}'"},
		"lease_take":   {0, "'me'", 1_000_000},
		"lease_get":    {0},
		"lease_held":   {0, "'you'"},
		"lease_put":    {0, "''"},
		"release":      {0, l.Token},
		"holders":      nil,
	} {
		if n := explained(t, db, name, args...); n > first+20 {
			t.Errorf("after 3,000 settles %s looks at %d pages; the first extend looked at %d", name, n, first)
		}
	}
}

// TestStatusTokensOfTwoServersDiffer: if a server was behind when it became the primary, the
// tokens of the two servers still differ, so that a holder on one server is not taken for the
// holder on the other.
func TestStatusTokensOfTwoServersDiffer(t *testing.T) {
	var tokens []int64
	for range 2 {
		store, _ := openStatus(t, pgoutbox.Config{})
		tokens = append(tokens, lease(t, store, "me").Token)
	}
	if tokens[0] == tokens[1] {
		t.Errorf("the first lease of two databases has the token %d", tokens[0])
	}
}

// TestStatusMigrationCarriesLeasesOver: a database of the release before is migrated, and its
// relays fail.
func TestStatusMigrationCarriesLeasesOver(t *testing.T) {
	db := servicetest.Postgres(t)
	store, err := pgoutbox.New(db, pgoutbox.Config{Status: true})
	require.NoError(t, err)
	sets, err := store.Migrations()
	require.NoError(t, err)
	set := sets[0]
	before := fstest.MapFS{}
	for _, name := range []string{"0001_events.sql", "0002_lease_server.sql"} {
		text, err := fs.ReadFile(set.FS, name)
		require.NoError(t, err)
		before[name] = &fstest.MapFile{Data: text}
	}
	old := migrate.Set(set)
	old.FS = before
	require.NoError(t, old.Up(t.Context(), db))
	_, err = db.Exec(`INSERT INTO outbox_event_leases (shard, position, lease_holder, lease_token, lease_until)
		SELECT 0, system_identifier || '|1:5:|1:9:|10|7', 'old', 7, 'infinity' FROM pg_control_system()`)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	if _, err := store.Lease(t.Context(), 0, "new", time.Hour); !errors.Is(err, driver.ErrLeaseHeld) {
		t.Errorf("the lease of the old release is not respected: %v", err)
	}
	if l := lease(t, store, "old"); l.Token <= 7 {
		t.Errorf("the token is %d, want more than 7", l.Token)
	}
	if _, err := db.Exec(`UPDATE outbox_event_leases SET lease_until = 'infinity' WHERE shard = 0 AND lease_token = 7`); err == nil {
		t.Error("a statement of the old release still works")
	}
}

// TestStatusPruneReadsWhatItDeletes: pruning reads only the rows that it deletes, also behind
// many dead rows that cannot be removed, and behind failed rows that stay.
func TestStatusPruneReadsWhatItDeletes(t *testing.T) {
	const chunk = 500
	store, db := openStatus(t, pgoutbox.Config{})
	fill := func(state string, n int) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), `INSERT INTO outbox_events
			(shard, topic, id, event_key, headers, payload, event_type, aggregate_type, aggregate_id, state, aside, created_at)
			SELECT 0, 'events', gen_random_uuid(), 'key', '', 'x', '', '', '', $1, $1 = 'FAILED', clock_timestamp() - interval '1 hour'
			FROM generate_series(1, $2::integer)`, state, n)
		require.NoError(t, err)
	}
	prune := func(store driver.SQLStore, want int) {
		t.Helper()
		sum := 0
		for {
			n, err := store.Prune(t.Context(), 0, time.Now().Add(-time.Minute), chunk)
			require.NoError(t, err)
			if sum += n; n < chunk {
				break
			}
		}
		assert.Equalf(t, want, sum, "pruned %d rows", sum)
	}
	fill("FAILED", 2*chunk+7)
	fill("PUBLISHED", 60_000)
	fill("PENDING", 1)
	fill("PUBLISHED", 10_000)
	_, err := db.ExecContext(t.Context(), `VACUUM ANALYZE outbox_events`)
	require.NoError(t, err)
	hold(t, db)
	// The chunk that passes the failed rows deletes fewer than asked for.
	prune(store, chunk-7)
	prune(store, 60_000-(chunk-7))
	fresh, err := pgoutbox.New(db, pgoutbox.Config{Status: true})
	require.NoError(t, err)
	prune(fresh, 0) // stops before the pending rows
	var place int64
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT place FROM outbox_events_pruned`).Scan(&place))
	if n := explained(t, db, "prune_chunk", 0, "now()", chunk, place); n > 2*chunk {
		t.Errorf("behind dead rows a chunk looks at %d pages", n)
	}
	_, err = db.ExecContext(t.Context(), `UPDATE outbox_events SET state = 'PUBLISHED' WHERE state = 'PENDING'`)
	require.NoError(t, err)
	prune(fresh, 10_001)
}

// TestStatusLateRowsOfManyShardsArePruned: a transaction that was running when pruning passed has
// rows of several shards. Pruning a shard deletes its own, up to the limit.
func TestStatusLateRowsOfManyShardsArePruned(t *testing.T) {
	const shards, n = 2, 16
	store, db := openStatus(t, pgoutbox.Config{Shards: shards})
	ctx := storetest.Within(t, 30*time.Second)
	box, err := outbox.New(store, outbox.Config{Topic: "events"})
	require.NoError(t, err)
	var events []event.Event
	for i := range n {
		events = append(events, storetest.Event(t, fmt.Sprint("key", i), 1))
	}
	late, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	require.NoError(t, box.Append(ctx, late, events...))
	for i := range events {
		events[i] = storetest.Event(t, events[i].Key(), 2)
	}
	storetest.Append(t, db, store, events...)
	relay, err := outbox.NewRelay(store, &outboxtest.Publisher{}, outbox.RelayConfig{Retention: -1})
	require.NoError(t, err)
	drain := func() {
		t.Helper()
		require.NoError(t, relay.Drain(ctx))
	}
	prune := func(shard, limit int) int {
		t.Helper()
		n, err := store.Prune(ctx, shard, time.Now().Add(time.Hour), limit)
		require.NoError(t, err)
		return n
	}
	drain()
	var left [shards]int // each key has as many late events as early ones
	for shard := range shards {
		if left[shard] = prune(shard, n); left[shard] == 0 {
			t.Fatalf("shard %d has no event", shard)
		}
	}
	require.NoError(t, late.Commit())
	drain()
	for range n + 1 { // in turn: the first late row is of one of the shards
		for shard := range shards {
			want := min(left[shard], 1)
			if got := prune(shard, 1); got != want {
				t.Fatalf("with a limit of 1 pruning shard %d deleted %d rows, want %d of %v", shard, got, want, left)
			}
			left[shard] -= want
		}
	}
	assert.NoError(t, box.Close(ctx))
}

// TestAdopt is TestAdopt of package pglog for the positions of both stores.
func TestAdopt(t *testing.T) {
	type adopter interface {
		driver.Store
		driver.Adopter
		driver.Snapshotter
	}
	for name, tc := range map[string]struct {
		open    func(*testing.T) (adopter, *sql.DB)
		foreign string
		ahead   string
		back    string
	}{
		"cursor": {
			func(t *testing.T) (adopter, *sql.DB) { s, db := open(t, pgoutbox.Config{}); return s.(adopter), db },
			`UPDATE outbox_cursors SET system_id = 1`,
			`UPDATE outbox_messages SET xid = '90000000000000'`, `UPDATE outbox_messages SET xid = '3'`,
		},
		"status": {
			func(t *testing.T) (adopter, *sql.DB) {
				s, db := openStatus(t, pgoutbox.Config{})
				return s.(adopter), db
			},
			`UPDATE outbox_event_progress SET position = regexp_replace(position, '^[0-9]+', '1')`,
			`UPDATE outbox_events SET xid = '90000000000000'`, `UPDATE outbox_events SET xid = '3'`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, db := tc.open(t)
			ctx := storetest.Within(t, 30*time.Second)
			storetest.Append(t, db, store, storetest.Event(t, "a", 1))
			l := lease(t, store, "me")
			batch, err := store.Read(ctx, l, driver.Query{Limit: 10})
			if err != nil || len(batch.Items) != 1 {
				t.Fatalf("read %d events (%v)", len(batch.Items), err)
			}
			err = store.Settle(ctx, l, driver.Settlement{Published: []*driver.Item{&batch.Items[0]}, Move: batch.Next, TTL: time.Hour})
			require.NoError(t, err)
			for _, s := range []string{tc.foreign, tc.ahead} {
				_, err := db.ExecContext(ctx, s)
				require.NoError(t, err)
			}
			if err := store.Adopt(ctx); err == nil || !strings.Contains(err.Error(), "millrace outbox rebase") {
				t.Errorf("adopted a row whose transaction lies ahead: %v", err)
			}
			if _, err := store.Lease(ctx, 0, "me", time.Hour); !errors.Is(err, driver.ErrForeignDatabase) ||
				!strings.Contains(err.Error(), "adopt") || !strings.Contains(err.Error(), "rebase") {
				t.Errorf("lease after a refused adoption: %v, want ErrForeignDatabase that names both ways", err)
			}
			if _, err := db.ExecContext(ctx, tc.back); err != nil {
				t.Fatal(err)
			}
			// Open transactions of other tests on this server will end.
			for err = store.Adopt(ctx); err != nil && ctx.Err() == nil; err = store.Adopt(ctx) {
				if !strings.Contains(err.Error(), "is stored") {
					t.Fatal(err)
				}
			}
			require.NoError(t, err)
			assert.ErrorIs(t, store.Settle(ctx, l, driver.Settlement{TTL: time.Hour}), driver.ErrLeaseLost, "a lease from before the adoption still holds")
			storetest.Append(t, db, store, storetest.Event(t, "a", 2))
			l = lease(t, store, "me")
			if batch, err = store.Read(ctx, l, driver.Query{Limit: 10}); err != nil || len(batch.Items) != 1 {
				t.Errorf("read %d events after the adoption (%v), want the new one", len(batch.Items), err)
			}
		})
	}
}

// TestAdoptOfManyShards: each shard is adopted with its newest position.
func TestAdoptOfManyShards(t *testing.T) {
	const shards = 3
	for name, tc := range map[string]struct {
		open    func(testing.TB, pgoutbox.Config) (driver.SQLStore, *sql.DB)
		foreign string
	}{
		"cursor": {open, `UPDATE outbox_cursors SET system_id = 1`},
		"status": {openStatus, `UPDATE outbox_event_progress SET position = regexp_replace(position, '^[0-9]+', '1')`},
	} {
		t.Run(name, func(t *testing.T) {
			store, db := tc.open(t, pgoutbox.Config{Shards: shards})
			ctx := storetest.Within(t, 30*time.Second)
			var events []event.Event
			for n := range 30 {
				events = append(events, storetest.Event(t, fmt.Sprint("key", n), 1))
			}
			storetest.Append(t, db, store, events...)
			var left [shards]int
			for shard := range shards {
				l, err := store.Lease(ctx, shard, "me", time.Hour)
				require.NoError(t, err)
				batch, err := store.Read(ctx, l, driver.Query{Limit: len(events)})
				if err != nil || len(batch.Items) < 3 {
					t.Fatalf("read %d events of shard %d (%v), want at least 3", len(batch.Items), shard, err)
				}
				left[shard] = len(batch.Items) - 2
				for i := range batch.Items[:2] { // two positions
					err := store.Settle(ctx, l, driver.Settlement{Published: []*driver.Item{&batch.Items[i]}, Move: batch.Items[i].Mark, TTL: time.Hour})
					require.NoError(t, err)
				}
			}
			_, err := db.ExecContext(ctx, tc.foreign)
			require.NoError(t, err)
			// Open transactions of other tests on this server will end.
			err = store.(driver.Adopter).Adopt(ctx)
			for ; err != nil && ctx.Err() == nil; err = store.(driver.Adopter).Adopt(ctx) {
				if !strings.Contains(err.Error(), "is stored") {
					t.Fatal(err)
				}
			}
			require.NoError(t, err)
			for shard := range shards {
				l, err := store.Lease(ctx, shard, "me", time.Hour)
				require.NoErrorf(t, err, "shard %d after the adoption", shard)
				if batch, err := store.Read(ctx, l, driver.Query{Limit: len(events)}); err != nil || len(batch.Items) != left[shard] {
					t.Errorf("read %d events of shard %d after the adoption (%v), want the %d that wait", len(batch.Items), shard, err, left[shard])
				}
			}
		})
	}
}
