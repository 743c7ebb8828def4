package place

import (
	"context"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestPlacesAreMadeAndDropped(t *testing.T) {
	for name, open := range map[string]func(*testing.T) (Place, error){
		"postgres": func(t *testing.T) (Place, error) {
			return Postgres(servicetest.Env(t, "MILLRACE_POSTGRES_URL", "PostgreSQL", "postgres://user@127.0.0.1:5432/name"), "bench_place_test")
		},
		"mariadb": func(t *testing.T) (Place, error) {
			return MariaDB(servicetest.Env(t, "MILLRACE_MARIADB_URL", "MariaDB", "mysql://user@127.0.0.1:3306/name"), "bench_place_test")
		},
		"mysql": func(t *testing.T) (Place, error) {
			return MariaDB(servicetest.Env(t, "MILLRACE_MYSQL_URL", "MySQL", "mysql://user@127.0.0.1:3306/name"), "bench_place_test")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Drop(context.WithoutCancel(t.Context()))
			if err := p.Recreate(t.Context()); err != nil {
				t.Fatal(err)
			}
			db, err := p.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			var in string
			if err := db.QueryRow(`SELECT ` + map[string]string{"postgres": "current_schema()", "mariadb": "database()", "mysql": "database()"}[name]).Scan(&in); err != nil || in != "bench_place_test" {
				t.Fatalf("tables are made in %q (%v)", in, err)
			}
			if _, err := db.Exec(`CREATE TABLE a (b integer)`); err != nil {
				t.Fatal(err)
			}
			if err := p.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := p.Recreate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(`SELECT b FROM a`); err == nil {
				t.Error("the table outlived its place")
			}
		})
	}
}

func TestBadURLsAreNotRepeated(t *testing.T) {
	const bad = "postgres://user:secret@%zz/"
	for _, open := range []func(string, string) (Place, error){Postgres, MariaDB} {
		if _, err := open(bad, "x"); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
}
