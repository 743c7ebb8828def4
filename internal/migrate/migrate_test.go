package migrate_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// database opens further pools on one database, as further processes would.
type database struct {
	dialect string
	open    func() *sql.DB
}

func eachDialect(t *testing.T, run func(t *testing.T, d database)) {
	t.Run("sqlite", func(t *testing.T) {
		path, _ := servicetest.SQLite(t)
		run(t, database{migrate.SQLite, func() *sql.DB {
			db, err := sqlitedb.Open(path, sqlitedb.Config{Synchronous: sqlitedb.Normal})
			return opened(t, db, err)
		}})
	})
	t.Run("postgres", func(t *testing.T) {
		url := servicetest.PostgresURL(t)
		run(t, database{migrate.Postgres, func() *sql.DB {
			db, err := pgdb.Open(url)
			return opened(t, db, err)
		}})
	})
	servicetest.EachMySQL(t, func(t *testing.T, server servicetest.MySQLServer) {
		url := server.URL(t) + "?multiStatements=true" // a script has many statements
		run(t, database{migrate.MySQL, func() *sql.DB {
			db, err := mysqldb.Open(url)
			return opened(t, db, err)
		}})
	})
}

func opened(t *testing.T, db *sql.DB, err error) *sql.DB {
	t.Helper()
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func files(n int) fs.FS {
	out := fstest.MapFS{}
	for i := 1; i <= n; i++ {
		text := fmt.Sprintf("-- +goose Up\nINSERT INTO log (step) VALUES (%d);\n\n-- +goose Down\nDELETE FROM log WHERE step = %d;\n", i, i)
		if i == 1 {
			// IF NOT EXISTS on purpose: it would hide a migration that runs twice.
			text = "-- +goose Up\nCREATE TABLE IF NOT EXISTS log (step INTEGER);\nINSERT INTO log (step) VALUES (1);\n\n-- +goose Down\nDROP TABLE log;\n"
		}
		out[fmt.Sprintf("%04d_step.sql", i)] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func steps(t *testing.T, db *sql.DB) string {
	t.Helper()
	return numbers(t, db, `SELECT step FROM log ORDER BY step`)
}

// recorded returns the versions in the table of package demo that have a time.
func recorded(t *testing.T, db *sql.DB) string {
	t.Helper()
	return numbers(t, db, `SELECT version_id FROM millrace_demo_version WHERE tstamp IS NOT NULL ORDER BY id`)
}

func numbers(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	rows, err := db.Query(query)
	require.NoError(t, err)
	defer rows.Close()
	var out []string
	for rows.Next() {
		var n int
		require.NoError(t, rows.Scan(&n))
		out = append(out, fmt.Sprint(n))
	}
	require.NoError(t, rows.Err())
	return strings.Join(out, " ")
}

func TestUp(t *testing.T) {
	eachDialect(t, func(t *testing.T, d database) {
		db, ctx := d.open(), context.Background()
		set := migrate.Set{Package: "demo", Dialect: d.dialect, FS: files(2)}
		for range 2 {
			require.NoError(t, set.Up(ctx, db))
		}
		assert.Equal(t, "1 2", steps(t, db), "after two Ups the steps")
		set.FS = files(3)
		require.NoError(t, set.Up(ctx, db))
		assert.Equal(t, "1 2 3", steps(t, db), "after an update the steps")
		if got := recorded(t, db); got != "0 1 2 3" {
			t.Errorf("recorded are %q, want 0, which marks the table, and each version once", got)
		}
		// Another package is not affected by these versions, and does not see them.
		other := migrate.Set{Package: "other", Dialect: d.dialect, FS: fstest.MapFS{
			"0001_other.sql": {Data: []byte("-- +goose Up\nCREATE TABLE other (a INTEGER);\n")}}}
		require.NoError(t, other.Up(ctx, db))
		_, err := db.Exec(`SELECT a FROM other`)
		assert.NoError(t, err, "the second package's table is missing")
	})
}

func TestConcurrentUp(t *testing.T) {
	eachDialect(t, func(t *testing.T, d database) {
		const processes = 6
		set := migrate.Set{Package: "demo", Dialect: d.dialect, FS: files(5)}
		start := make(chan struct{})
		errs := make([]error, processes)
		var wg sync.WaitGroup
		for i := range processes {
			db := d.open()
			wg.Go(func() {
				<-start
				errs[i] = set.Up(context.Background(), db)
			})
		}
		close(start)
		wg.Wait()
		for i, err := range errs {
			assert.NoErrorf(t, err, "process %d", i)
		}
		assert.Equal(t, "1 2 3 4 5", steps(t, d.open()), "steps")
	})
}

func TestFailedMigration(t *testing.T) {
	eachDialect(t, func(t *testing.T, d database) {
		db, ctx := d.open(), context.Background()
		fsys := files(1).(fstest.MapFS)
		fsys["0002_bad.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nINSERT INTO log (step) VALUES (2);\nINSERT INTO nowhere VALUES (1);\n")}
		set := migrate.Set{Package: "demo", Dialect: d.dialect, FS: fsys}
		err := set.Up(ctx, db)
		if err == nil || !strings.Contains(err.Error(), "migrate: up demo") || !strings.Contains(err.Error(), "0002_bad.sql") {
			t.Fatalf("Up = %v; want an error that names the package and the file", err)
		}
		if got := steps(t, db); got != "1" {
			t.Errorf("steps are %q, want only what the good migration did", got)
		}
		fsys["0002_bad.sql"] = files(2).(fstest.MapFS)["0002_step.sql"]
		require.NoError(t, set.Up(ctx, db), "Up after the repair")
		assert.Equal(t, "1 2", steps(t, db), "steps")
	})
}

// Where CREATE TABLE cannot be rolled back, the next Up completes a failed one, also after a
// crash that left an empty version table.
func TestMySQLRepeats(t *testing.T) { servicetest.EachMySQL(t, testMySQLRepeats) }

func testMySQLRepeats(t *testing.T, server servicetest.MySQLServer) {
	db, ctx := server.DB(t), context.Background()
	fsys := fstest.MapFS{"0001_two.sql": {Data: []byte("-- +goose Up\nCREATE TABLE IF NOT EXISTS log (step INTEGER);\nINSERT INTO nowhere VALUES (1);\n")}}
	set := migrate.Set{Package: "demo", Dialect: migrate.MySQL, FS: fsys}
	require.Error(t, set.Up(ctx, db), "a failing migration passes")
	_, err := db.Exec(`DELETE FROM millrace_demo_version`)
	require.NoError(t, err)
	fsys["0001_two.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE IF NOT EXISTS log (step INTEGER);\nINSERT INTO log VALUES (1);\n")}
	require.NoError(t, set.Up(ctx, db), "Up after the repair")
	assert.Equal(t, "1", steps(t, db), "steps")
}

func TestPrintEqualsUp(t *testing.T) {
	eachDialect(t, func(t *testing.T, d database) {
		db, ctx := d.open(), context.Background()
		set := migrate.Set{Package: "demo", Dialect: d.dialect, FS: files(3)}
		var script bytes.Buffer
		require.NoError(t, set.Print(&script))
		assert.NotContainsf(t, script.String(), "DROP TABLE", "the script holds the way down:\n%s", &script)
		if _, err := db.Exec(script.String()); err != nil {
			t.Fatalf("%v in\n%s", err, &script)
		}
		set.FS = files(4)
		require.NoError(t, set.Up(ctx, db))
		assert.Equal(t, "1 2 3 4", steps(t, db), "after the script and a newer Up the steps")
	})
}

func TestSetIsChecked(t *testing.T) {
	_, db := servicetest.SQLite(t)
	for _, tc := range []struct {
		set  migrate.Set
		want string
	}{
		{migrate.Set{Package: "a; DROP", Dialect: migrate.SQLite, FS: files(1)}, "Package"},
		{migrate.Set{Package: "a", Dialect: "oracle", FS: files(1)}, "Dialect"},
		{migrate.Set{Package: "a", Dialect: migrate.SQLite}, "FS"},
		{migrate.Set{Package: "a", Dialect: migrate.SQLite, FS: fstest.MapFS{}}, "FS holds no .sql file"},
	} {
		for name, err := range map[string]error{
			"Up": tc.set.Up(context.Background(), db), "Print": tc.set.Print(&bytes.Buffer{}),
		} {
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s of %+v: %v; want an error about %s", name, tc.set, err, tc.want)
			}
		}
	}
}

func TestRender(t *testing.T) {
	out, err := migrate.Render(fstest.MapFS{
		"0001_a.sql": {Data: []byte("CREATE TABLE {{t}} (a);")},
		"readme.txt": {Data: []byte("{{t}}")},
	}, "*.sql", func(text string) string { return strings.ReplaceAll(text, "{{t}}", "tickets") })
	require.NoError(t, err)
	assert.NoError(t, fstest.TestFS(out, "0001_a.sql"))
	text, err := fs.ReadFile(out, "0001_a.sql")
	if err != nil || string(text) != "CREATE TABLE tickets (a);" {
		t.Errorf("rendered file = %q, %v", text, err)
	}
	if _, err := fs.Stat(out, "readme.txt"); err == nil {
		t.Error("a file that is no migration was taken along")
	}
}
