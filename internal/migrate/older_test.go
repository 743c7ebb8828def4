package migrate_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// testdata has the tables that goose 3.29 wrote for an older release that applied two steps.
func TestGooseTable(t *testing.T) {
	eachDialect(t, func(t *testing.T, d database) {
		db, ctx := d.open(), context.Background()
		text, err := os.ReadFile("testdata/goose_" + d.dialect + ".sql")
		require.NoError(t, err)
		for statement := range strings.SplitSeq(strings.TrimSpace(string(text)), ";\n") {
			if _, err := db.Exec(statement); err != nil {
				t.Fatalf("%v in %s", err, statement)
			}
		}
		set := migrate.Set{Package: "demo", Dialect: d.dialect, FS: files(2)}
		for _, want := range []string{"1 2", "1 2 3"} {
			require.NoError(t, set.Up(ctx, db))
			assert.Equal(t, want, steps(t, db), "behind goose the steps")
			if got := recorded(t, db); got != "0 "+want {
				t.Errorf("behind goose the versions are %q, want 0 %s", got, want)
			}
			set.FS = files(3)
		}
	})
}

// An older release holds its lock for its session, and has not applied a migration yet.
func TestOlderRelease(t *testing.T) {
	for name, c := range map[string]struct {
		take, give, waits string
	}{
		migrate.Postgres: {
			`SELECT pg_advisory_lock(hashtextextended(current_schema() || '.millrace_demo_version', 0))`,
			`SELECT pg_advisory_unlock(hashtextextended(current_schema() || '.millrace_demo_version', 0))`,
			`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'advisory'`,
		},
		migrate.MySQL: {
			`SELECT GET_LOCK(CONCAT('millrace_', LEFT(SHA2(CONCAT(DATABASE(), '.millrace_demo_version'), 256), 40)), 0)`,
			`SELECT RELEASE_LOCK(CONCAT('millrace_', LEFT(SHA2(CONCAT(DATABASE(), '.millrace_demo_version'), 256), 40)))`,
			`SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() AND state LIKE 'User lock%'`,
		},
	} {
		test := func(t *testing.T, db *sql.DB) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			older, err := db.Conn(ctx)
			require.NoError(t, err)
			defer older.Close()
			_, err = older.ExecContext(ctx, c.take)
			require.NoError(t, err)
			done := make(chan error, 1)
			go func() {
				done <- migrate.Set{Package: "demo", Dialect: name, FS: files(2)}.Up(ctx, db)
			}()
			for waiting := 0; waiting == 0; {
				select {
				case err := <-done:
					t.Fatalf("Up = %v beside an older release that holds the lock, want it to wait", err)
				default:
				}
				require.NoError(t, db.QueryRowContext(ctx, c.waits).Scan(&waiting))
			}
			_, err = older.ExecContext(ctx, c.give)
			require.NoError(t, err)
			require.NoError(t, <-done)
			assert.Equal(t, "1 2", steps(t, db), "steps")
		}
		if name == migrate.MySQL {
			servicetest.EachMySQL(t, func(t *testing.T, server servicetest.MySQLServer) { test(t, server.DB(t)) })
			continue
		}
		t.Run(name, func(t *testing.T) { test(t, servicetest.Postgres(t)) })
	}
}

// A cancelled Up rolls its migration back and returns to the pool a session without a
// transaction and without a lock.
func TestCancelledUp(t *testing.T) {
	eachDialect(t, func(t *testing.T, d database) {
		db := d.open()
		db.SetMaxOpenConns(1)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		set := migrate.Set{Package: "demo", Dialect: d.dialect, FS: files(1)}
		require.NoError(t, set.Up(ctx, db))
		slow := map[string]string{
			migrate.Postgres: `SELECT pg_sleep(3600);`,
			migrate.MySQL:    `DO SLEEP(3600);`,
			migrate.SQLite:   "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) INSERT INTO log SELECT max(i) FROM n;",
		}[d.dialect]
		fsys := files(1).(fstest.MapFS)
		fsys["0002_slow.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nINSERT INTO log (step) VALUES (2);\n" + slow + "\n")}
		set.FS = fsys
		time.AfterFunc(100*time.Millisecond, cancel) // at any time of the cancellation, nothing may be left
		if err := set.Up(ctx, db); err == nil || !errors.Is(ctx.Err(), context.Canceled) {
			t.Fatalf("Up = %v, want the end of its context", err)
		}
		set.FS = files(3)
		require.NoError(t, set.Up(context.Background(), db))
		assert.Equal(t, "1 2 3", steps(t, db), "steps")
	})
}
