package sqlidempotency_test

import (
	"bytes"
	"context"
	"database/sql"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

func nothing(context.Context) error { return nil }

func record(key string) driver.Record {
	return driver.Record{Key: key, Group: "stats", EventType: "Sold", AggregateID: "a-1", EventID: "e-1"}
}

func TestNewChecks(t *testing.T) {
	_, db := servicetest.SQLite(t)
	for _, tc := range []struct {
		db   *sql.DB
		cfg  sqlidempotency.Config
		want string
	}{
		{nil, sqlidempotency.Config{Dialect: sqltx.SQLite}, "db is nil"},
		{db, sqlidempotency.Config{}, "Config.Dialect"},
		{db, sqlidempotency.Config{Dialect: "oracle"}, "Config.Dialect"},
		{db, sqlidempotency.Config{Dialect: sqltx.SQLite, Table: "t; DROP TABLE users"}, "Config.Table"},
		{db, sqlidempotency.Config{Dialect: sqltx.SQLite, Table: "Upper"}, "Config.Table"},
		{db, sqlidempotency.Config{Dialect: sqltx.SQLite, Table: strings.Repeat("x", 29)}, "Config.Table"},
	} {
		if _, err := sqlidempotency.New(tc.db, tc.cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("New(%+v) = %v, want an error about %s", tc.cfg, err, tc.want)
		}
	}
}

// TestColumns: the names are a contract, because other programs read these tables.
func TestColumns(t *testing.T) {
	eachConfig(t, func(t *testing.T, on database, cfg sqlidempotency.Config) {
		db, _ := pools(t, on)
		s := migrated(t, db, cfg)
		_, err := s.Once(t.Context(), record("stats:e-1"), nothing)
		require.NoError(t, err)
		query := `SELECT idempotency_key, consumer_group, event_type, aggregate_id, handled_at FROM event_handled`
		want := []string{"stats:e-1", "stats", "Sold", "a-1"}
		if cfg.ProcessedEvents {
			query = `SELECT event_id, consumer_service, event_type, aggregate_id, processed_at FROM processed_events`
			want[0] = "e-1"
		}
		got := make([]string, 4)
		var at any
		if err := db.QueryRow(query).Scan(&got[0], &got[1], &got[2], &got[3], &at); err != nil || !slices.Equal(got, want) {
			t.Errorf("the row is %q, %v; want %q", got, err, want)
		}
		when, ok := at.(time.Time)
		if text, isText := at.(string); isText {
			var err error
			when, err = time.Parse(time.RFC3339Nano, text)
			ok = err == nil
		}
		if age := time.Since(when); !ok || age < -time.Minute || age > time.Minute {
			t.Errorf("the time is %v, want now", at)
		}
	})
}

func TestMigrations(t *testing.T) {
	eachConfig(t, func(t *testing.T, on database, cfg sqlidempotency.Config) {
		db, _ := pools(t, on)
		printed := newStore(t, db, cfg)
		var script bytes.Buffer
		require.NoError(t, printed.PrintMigrations(&script))
		for statement := range strings.SplitAfterSeq(strings.TrimSpace(script.String()), ";\n") {
			if _, err := db.Exec(statement); err != nil {
				t.Fatalf("%v in\n%s", err, statement)
			}
		}
		require.NoError(t, printed.Migrate(t.Context()), "Migrate after the printed script")
		// A second table in the same database is independent.
		cfg.Table = "other_" + layoutOf(cfg)
		other := migrated(t, db, cfg)
		for name, s := range map[string]driver.SQLStore[*sql.Tx]{"printed": printed, "other": other} {
			if fresh, err := s.Once(t.Context(), record("stats:e-1"), nothing); !fresh || err != nil {
				t.Errorf("%s: %v, %v; want a fresh key in each table", name, fresh, err)
			}
		}
		sets, err := other.Migrations()
		require.NoError(t, err)
		files := sets[0].FS
		names, _ := fs.Glob(files, "*.sql")
		text, err := fs.ReadFile(files, names[0])
		if err != nil || !strings.Contains(string(text), "-- +goose Up") || !strings.Contains(string(text), cfg.Table+" (\n") {
			t.Errorf("%s = %q, %v", names[0], text, err)
		}
	})
}

func TestProcessedEventsNeedsAGroup(t *testing.T) {
	_, db := servicetest.SQLite(t)
	s := migrated(t, db, sqlidempotency.Config{Dialect: sqltx.SQLite, ProcessedEvents: true})
	for _, key := range []string{"plain", ":e-1", "stats:"} {
		_, err := s.Once(t.Context(), record(key), func(context.Context) error {
			t.Errorf("the handler ran with key %q", key)
			return nil
		})
		if fault.Of(err) != fault.Permanent || !strings.Contains(err.Error(), "{group}:{rest}") {
			t.Errorf("key %q: %v (%v), want a permanent error about its form", key, err, fault.Of(err))
		}
		if _, err := s.Seen(t.Context(), key); err == nil {
			t.Errorf("Seen accepts the key %q", key)
		}
	}
}

// TestBrokenTextIsStored: text that PostgreSQL refuses must not prevent an event from being
// handled.
func TestBrokenTextIsStored(t *testing.T) {
	eachConfig(t, func(t *testing.T, on database, cfg sqlidempotency.Config) {
		db, _ := pools(t, on)
		r := record("stats:e\xff\x00")
		r.EventType, r.AggregateID = "So\x00ld", "a\xff-1"
		fresh, err := migrated(t, db, cfg).Once(t.Context(), r, nothing)
		var typ, aggregate string
		err2 := db.QueryRow(`SELECT event_type, aggregate_id FROM `+layoutOf(cfg)).Scan(&typ, &aggregate)
		if !fresh || err != nil || err2 != nil || typ != "Sold" || aggregate != "a-1" {
			t.Errorf("%v, %v; stored %q, %q, %v", fresh, err, typ, aggregate, err2)
		}
	})
}

// TestSwallowedErrorLeavesNoKey: on PostgreSQL a failed statement spoils the transaction. A
// handler that ignores it must not end with a key and without its effect.
func TestSwallowedErrorLeavesNoKey(t *testing.T) {
	db := servicetest.Postgres(t)
	s := migrated(t, db, sqlidempotency.Config{Dialect: sqltx.Postgres})
	fresh, err := s.Once(t.Context(), record("stats:e-1"), func(ctx context.Context) error {
		tx, _ := sqltx.On(ctx, db)
		_, _ = tx.ExecContext(ctx, `INSERT INTO no_such_table VALUES (1)`)
		return nil
	})
	if err == nil || fresh {
		t.Errorf("a swallowed statement error: fresh %v, %v; want an error from the commit", fresh, err)
	}
	if seen, err := s.Seen(t.Context(), "stats:e-1"); seen || err != nil {
		t.Errorf("key recorded %v, %v", seen, err)
	}
}

// TestSerializableOuter: above READ COMMITTED a duplicate that waited fails with a transient
// error, and works when sqltx.Do begins its transaction again.
func TestSerializableOuter(t *testing.T) {
	a, b := pools(t, databases[1])
	cfg := sqlidempotency.Config{Dialect: sqltx.Postgres}
	first, second := migrated(t, a, cfg), newStore(t, b, cfg)
	event := "stats:e-1"
	attempt := func(inside func() error, attempts int) (fresh bool, err error) {
		err = sqltx.Do(t.Context(), b, func(ctx context.Context, tx *sql.Tx) error {
			var n int
			if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM event_handled`).Scan(&n); err != nil {
				return err // the first statement takes the snapshot
			}
			if err := inside(); err != nil {
				return err
			}
			fresh, err = second.Once(ctx, record(event), nothing)
			return err
		}, sqltx.Options{Isolation: sql.LevelRepeatableRead, Attempts: attempts})
		return fresh, err
	}
	meanwhile := func() error {
		_, err := first.Once(t.Context(), record(event), nothing)
		return err
	}
	_, err := attempt(meanwhile, 1)
	if got := fault.Of(err, pgdb.Classify); err == nil || got != fault.Transient {
		t.Errorf("the duplicate under REPEATABLE READ: %v (%v), want a transient error", err, got)
	}
	event = "stats:e-2"
	fresh, err := attempt(meanwhile, 2)
	if fresh || err != nil {
		t.Errorf("the second try: fresh %v, %v; want a duplicate", fresh, err)
	}
}

// TestDatabaseErrorsKeepTheirClass: the driver's error stays visible to classifiers.
func TestDatabaseErrorsKeepTheirClass(t *testing.T) {
	db, err := pgdb.Open("postgres://u@127.0.0.1:1/nowhere?sslmode=disable")
	require.NoError(t, err)
	defer db.Close()
	s := newStore(t, db, sqlidempotency.Config{Dialect: sqltx.Postgres})
	_, once := s.Once(t.Context(), record("stats:e-1"), nothing)
	_, seen := s.Seen(t.Context(), "stats:e-1")
	_, prune := s.Prune(t.Context(), 0, 1)
	for name, err := range map[string]error{"Once": once, "Seen": seen, "Prune": prune, "Migrate": s.Migrate(t.Context())} {
		if got := fault.Of(err, pgdb.Classify); got != fault.Infrastructure || !strings.HasPrefix(err.Error(), "sqlidempotency: ") {
			t.Errorf("%s on an unreachable server: %v (%v), want infrastructure", name, err, got)
		}
	}
}

// A pruner whose clock is decades behind the database's, as synctest has it, deletes what is old.
func TestAgeIsByTheDatabasesClock(t *testing.T) {
	db, _ := pools(t, databases[0])
	cfg := sqlidempotency.Config{Dialect: sqltx.SQLite}
	s := migrated(t, db, cfg)
	for _, key := range []string{"group:old", "group:young"} {
		_, err := s.Once(t.Context(), record(key), nothing)
		require.NoError(t, err)
	}
	require.NoError(t, backdate(db, cfg)(t.Context(), "group:old", 2*time.Hour))
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- idempotency.RunPruner(ctx, s, idempotency.PrunerConfig{Retention: time.Hour}) }()
		synctest.Wait()
		end()
		require.NoError(t, <-ended)
	})
	for key, want := range map[string]bool{"group:old": false, "group:young": true} {
		seen, err := s.Seen(t.Context(), key)
		require.NoError(t, err)
		assert.Equal(t, want, seen, key)
	}
}
