package place

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
			require.NoError(t, err)
			defer p.Drop(context.WithoutCancel(t.Context()))
			require.NoError(t, p.Recreate(t.Context()))
			db, err := p.Open()
			require.NoError(t, err)
			defer db.Close()
			var in string
			if err := db.QueryRow(`SELECT ` + map[string]string{"postgres": "current_schema()", "mariadb": "database()", "mysql": "database()"}[name]).Scan(&in); err != nil || in != "bench_place_test" {
				t.Fatalf("tables are made in %q (%v)", in, err)
			}
			_, err = db.Exec(`CREATE TABLE a (b integer)`)
			require.NoError(t, err)
			require.NoError(t, p.Settle(t.Context()))
			require.NoError(t, p.Recreate(t.Context()))
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
