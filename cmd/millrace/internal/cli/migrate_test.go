package cli_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/counter/sqlcounter"
	"github.com/millrace-go/millrace/sqltx"
)

type part struct {
	Package, State string
	Migrations     []struct {
		Name    string
		Applied bool
	}
}

// states are the packages and the state of each.
func states(t *testing.T, r run) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, p := range read[[]part](t, r) {
		out[p.Package] = p.State
	}
	return out
}

func TestMigrate(t *testing.T) {
	eachDatabase(t, func(t *testing.T, p place) {
		if p.name == "sqlite" {
			tool(t, "migrate", "status", "--db", p.url).want(t, 1, "there is no file")
		}
		db := p.open(t)
		before := p.tables(t, db)
		for name, state := range states(t, tool(t, "migrate", "status", "--db", p.url, "--json").want(t, 0)) {
			assert.Equalf(t, "missing", state, "%s is %s in an empty database", name, state)
		}
		if n := p.tables(t, db); n != before {
			t.Errorf("to look made %d tables", n-before)
		}

		tool(t, "migrate", "up", "--db", p.url, "--package", "outbox,idempotency").want(t, 0, "applied")
		got := states(t, tool(t, "migrate", "status", "--db", p.url, "--json").want(t, 0))
		if got["outbox"] != "current" || got["idempotency"] != "current" || got["bus"] != "missing" || got["leases"] != "missing" ||
			got["counter"] != "missing" || got["counter-log"] != "missing" {
			t.Errorf("after a part of them: %v", got)
		}
		tool(t, "migrate", "up", "--db", p.url).want(t, 0, "applied", "up to date")
		tool(t, "migrate", "up", "--db", p.url, "--layout", "processed_events").want(t, 0, "1 migration applied")
		for _, layout := range []string{"event_handled", "processed_events"} {
			for name, state := range states(t, tool(t, "migrate", "status", "--db", p.url, "--layout", layout, "--json").want(t, 0)) {
				assert.Equalf(t, "current", state, "%s is %s after up", name, state)
			}
		}
		// A version that no longer exists, and one that is not known yet.
		exec := func(query string) {
			t.Helper()
			_, err := db.Exec(query)
			require.NoError(t, err)
		}
		exec(`DELETE FROM millrace_outbox_version WHERE version_id = 1`)
		tool(t, "migrate", "status", "--db", p.url).want(t, 1, "pending", "millrace migrate up")
		exec(`INSERT INTO millrace_outbox_version (version_id, is_applied) VALUES (1, ` + truth(p) + `), (9999, ` + truth(p) + `)`)
		tool(t, "migrate", "status", "--db", p.url).want(t, 0, "of a newer Millrace")
		exec(`DELETE FROM millrace_outbox_version WHERE version_id = 9999`)
	})
}

// A failure prints the completed packages and the error as JSON, and nothing at all when no
// package is complete.
func TestMigrateUpFails(t *testing.T) {
	t.Parallel()
	p := place{name: "sqlite", url: "sqlite://" + filepath.Join(t.TempDir(), "app.db")}
	_, err := p.open(t).Exec(`CREATE TABLE event_handled (other INTEGER)`)
	require.NoError(t, err)
	up := func(packages string) run {
		return tool(t, "migrate", "up", "--db", p.url, "--json", "--package", packages).want(t, 1, "event_handled")
	}
	got := read[struct {
		Packages []struct{ Package string }
		Error    string
	}](t, up("leases,idempotency"))
	require.Len(t, got.Packages, 1)
	assert.Equal(t, "leases", got.Packages[0].Package)
	assert.Contains(t, got.Error, "event_handled")
	assert.Empty(t, up("idempotency").out)
}

// The tool and the application keep the versions of a counter's tables in one place: tables
// that one has created are up to date for the other.
func TestMigrateCounters(t *testing.T) {
	eachDatabase(t, func(t *testing.T, p place) {
		db := p.open(t)
		dialect := map[string]sqltx.Dialect{
			"sqlite": sqltx.SQLite, "postgres": sqltx.Postgres, "mariadb": sqltx.MySQL, "mysql": sqltx.MySQL,
		}[p.name]
		applier, err := sqlcounter.New(db, sqlcounter.Config{Dialect: dialect})
		require.NoError(t, err)
		log, err := sqlcounter.NewLog(db, dialect, "comment")
		require.NoError(t, err)
		are := func(counter, counterLog string) {
			t.Helper()
			got := states(t, tool(t, "migrate", "status", "--db", p.url, "--json").want(t, 0))
			if got["counter"] != counter || got["counter-log"] != counterLog {
				t.Errorf("%v, want counter %s and counter-log %s", got, counter, counterLog)
			}
		}
		tool(t, "migrate", "up", "--db", p.url, "--package", "counter").want(t, 0, "1 migration applied")
		are("current", "missing")
		n := p.tables(t, db)
		require.NoError(t, applier.Migrate(t.Context()))
		if m := p.tables(t, db); m != n {
			t.Errorf("the application made %d tables more", m-n)
		}
		require.NoError(t, log.Migrate(t.Context()))
		are("current", "current")
		tool(t, "migrate", "up", "--db", p.url, "--package", "counter-log").want(t, 0, "up to date")
		for _, table := range []string{"millrace_counter_version", "millrace_counter_log_version"} {
			var rows, versions int
			err := db.QueryRow(`SELECT count(*), count(DISTINCT version_id) FROM `+table+` WHERE version_id > 0`).Scan(&rows, &versions)
			if err != nil || versions == 0 || rows != versions {
				t.Errorf("%s has %d rows for %d versions: %v", table, rows, versions, err)
			}
		}
	})
}

func truth(p place) string {
	if p.name == "sqlite" {
		return "1"
	}
	return "true"
}

// The printed script creates the same tables as up.
func TestMigratePrint(t *testing.T) {
	eachDatabase(t, func(t *testing.T, p place) {
		script := tool(t, "migrate", "print", "--db", p.url).want(t, 0).out
		assert.Equal(t, script, tool(t, "migrate", "print", "--dialect", p.name).want(t, 0).out, "--dialect and --db print different scripts")
		db := p.open(t)
		if _, err := db.Exec(script); err != nil {
			t.Fatalf("%v in\n%s", err, script)
		}
		for name, state := range states(t, tool(t, "migrate", "status", "--db", p.url, "--json").want(t, 0)) {
			assert.Equalf(t, "current", state, "%s is %s after the script", name, state)
		}
		n := p.tables(t, db)
		if up := tool(t, "migrate", "up", "--db", p.url).want(t, 0); strings.Contains(up.out, "applied") {
			t.Errorf("up after the script: %s", up.out)
		}
		if m := p.tables(t, db); m != n || n < 10 {
			t.Errorf("the script made %d tables, up %d", n, m)
		}
	})
}

// The tool finds an outbox under another prefix and, on servers with schemas, in another
// schema.
func TestNames(t *testing.T) {
	eachDatabase(t, func(t *testing.T, p place) {
		names := []string{"--prefix", "shop", "--db", p.url}
		if p.name == "sqlite" {
			p.open(t)
			tool(t, "outbox", "status", "--db", p.url, "--schema", "other").want(t, 2, "SQLite has no schemas")
		} else {
			names = append(names, "--schema", elsewhere(t, p))
		}
		with := func(args ...string) run { return tool(t, append(args, names...)...) }
		tool(t, "outbox", "status", "--db", p.url, "--prefix", "a.b").want(t, 2, "--prefix is")
		with("migrate", "up", "--package", "outbox,outbox-status").want(t, 0, "applied")
		got := states(t, with("migrate", "status", "--json").want(t, 0))
		if got["outbox"] != "current" || got["outbox-status"] != "current" {
			t.Errorf("after migrate up: %v", got)
		}
		got = states(t, tool(t, "migrate", "status", "--db", p.url, "--json").want(t, 0))
		if got["outbox"] != "missing" || got["outbox-status"] != "missing" {
			t.Errorf("under the default names: %v", got)
		}
		with("outbox", "status", "--kind", "cursor").want(t, 0, "cursor")
		with("outbox", "failing", "--kind", "status").want(t, 0)
		tool(t, "outbox", "status", "--db", p.url).want(t, 1, "no outbox")
		with("doctor").want(t, 0, "tables up to date: outbox, outbox-status")
	})
}

// elsewhere creates a schema, or on MySQL a database, that is not the URL's.
func elsewhere(t *testing.T, p place) string {
	t.Helper()
	db := p.open(t)
	current, create, drop := `current_schema()`, `CREATE SCHEMA `, `DROP SCHEMA %s CASCADE`
	if p.name != "postgres" {
		current, create, drop = `DATABASE()`, `CREATE DATABASE `, `DROP DATABASE %s`
	}
	var name string
	require.NoError(t, db.QueryRow(`SELECT `+current).Scan(&name))
	name += "_x"
	_, err := db.Exec(create + name)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := db.Exec(fmt.Sprintf(drop, name))
		assert.NoError(t, err)
	})
	return name
}
