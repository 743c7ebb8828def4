package cli_test

import (
	"strings"
	"testing"
)

type part struct {
	Package, State string
	Migrations     []struct {
		Name    string
		Applied bool
	}
}

// states are the packages and how far they are.
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
			if state != "missing" {
				t.Errorf("%s is %s in an empty database", name, state)
			}
		}
		if n := p.tables(t, db); n != before {
			t.Errorf("to look made %d tables", n-before)
		}

		tool(t, "migrate", "up", "--db", p.url, "--package", "outbox,idempotency").want(t, 0, "applied")
		got := states(t, tool(t, "migrate", "status", "--db", p.url, "--json").want(t, 0))
		if got["outbox"] != "current" || got["idempotency"] != "current" || got["bus"] != "missing" || got["leases"] != "missing" {
			t.Errorf("after a part of them: %v", got)
		}
		tool(t, "migrate", "up", "--db", p.url).want(t, 0, "applied", "up to date")
		tool(t, "migrate", "up", "--db", p.url, "--layout", "processed_events").want(t, 0, "1 migration applied")
		for _, layout := range []string{"event_handled", "processed_events"} {
			for name, state := range states(t, tool(t, "migrate", "status", "--db", p.url, "--layout", layout, "--json").want(t, 0)) {
				if state != "current" {
					t.Errorf("%s is %s after up", name, state)
				}
			}
		}
		// A version that is not there any more, and one that is not known yet.
		exec := func(query string) {
			t.Helper()
			if _, err := db.Exec(query); err != nil {
				t.Fatal(err)
			}
		}
		exec(`DELETE FROM millrace_outbox_version WHERE version_id = 1`)
		tool(t, "migrate", "status", "--db", p.url).want(t, 1, "pending", "millrace migrate up")
		exec(`INSERT INTO millrace_outbox_version (version_id, is_applied) VALUES (1, ` + truth(p) + `), (9999, ` + truth(p) + `)`)
		tool(t, "migrate", "status", "--db", p.url).want(t, 0, "of a newer Millrace")
		exec(`DELETE FROM millrace_outbox_version WHERE version_id = 9999`)
	})
}

func truth(p place) string {
	if p.name == "sqlite" {
		return "1"
	}
	return "true"
}

// The printed script makes what up makes.
func TestMigratePrint(t *testing.T) {
	eachDatabase(t, func(t *testing.T, p place) {
		script := tool(t, "migrate", "print", "--db", p.url).want(t, 0).out
		if other := tool(t, "migrate", "print", "--dialect", p.name).want(t, 0).out; other != script {
			t.Error("--dialect and --db print different scripts")
		}
		db := p.open(t)
		if _, err := db.Exec(script); err != nil {
			t.Fatalf("%v in\n%s", err, script)
		}
		for name, state := range states(t, tool(t, "migrate", "status", "--db", p.url, "--json").want(t, 0)) {
			if state != "current" {
				t.Errorf("%s is %s after the script", name, state)
			}
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
