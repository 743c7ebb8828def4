package servicetest_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a test that records how it is ended.
type recorder struct {
	testing.TB
	name, fatal, skip string
}

func (r *recorder) Helper()                      {}
func (r *recorder) Name() string                 { return r.name }
func (r *recorder) Cleanup(func())               {}
func (r *recorder) Skip(args ...any)             { r.skip = fmt.Sprint(args...) }
func (r *recorder) Fatal(args ...any)            { r.fatal = fmt.Sprint(args...) }
func (r *recorder) Fatalf(f string, args ...any) { r.fatal = fmt.Sprintf(f, args...) }

// A test without a server is left to make test, and one with a server cannot be marked as
// embedded.
func TestEmbedded(t *testing.T) {
	t.Setenv("MILLRACE_SERVERS_ONLY", "")
	r := &recorder{TB: t, name: "TestA"}
	servicetest.Embedded(r)
	servicetest.Served(&recorder{TB: t, name: "TestAB"}) // another
	if r.skip+r.fatal != "" {
		t.Errorf("skipped %q, ended %q", r.skip, r.fatal)
	}
	inner := &recorder{TB: t, name: "TestA/inner/most"}
	if servicetest.Served(inner); !strings.Contains(inner.fatal, "TestA is marked") {
		t.Errorf("a server in a test that is marked: %q", inner.fatal)
	}
	t.Setenv("MILLRACE_SERVERS_ONLY", "1")
	if servicetest.Embedded(r); !strings.Contains(r.skip, "n/a: needs no server") {
		t.Errorf("in the matrix: skipped %q", r.skip)
	}
}

func TestPostgresSchemasAreApart(t *testing.T) {
	var left string
	outer := servicetest.Postgres(t)
	exec := func(t *testing.T, db *sql.DB, query string) {
		t.Helper()
		_, err := db.Exec(query)
		require.NoError(t, err, "%s", query)
	}
	exec(t, outer, `CREATE TABLE mine (a int)`)
	t.Run("inner", func(t *testing.T) {
		url := servicetest.PostgresURL(t)
		db, err := pgdb.Open(url)
		require.NoError(t, err)
		defer db.Close()
		exec(t, db, `CREATE TABLE mine (a int)`)
		require.NoError(t, db.QueryRow(`SELECT current_schema()`).Scan(&left))
	})
	var n int
	if err := outer.QueryRow(`SELECT count(*) FROM pg_namespace WHERE nspname = $1`, left).Scan(&n); err != nil || n != 0 {
		t.Errorf("the inner test's schema %q is still there (%d, %v)", left, n, err)
	}
}

func TestMySQLDatabasesAreApart(t *testing.T) { servicetest.EachMySQL(t, testMySQLDatabasesAreApart) }

func testMySQLDatabasesAreApart(t *testing.T, server servicetest.MySQLServer) {
	var left string
	outer := server.DB(t)
	_, err := outer.Exec(`CREATE TABLE mine (a int)`)
	require.NoError(t, err)
	t.Run("inner", func(t *testing.T) {
		db, err := mysqldb.Open(server.URL(t))
		require.NoError(t, err)
		defer db.Close()
		_, err = db.Exec(`CREATE TABLE mine (a int)`)
		require.NoError(t, err)
		require.NoError(t, db.QueryRow(`SELECT database()`).Scan(&left))
	})
	var n int
	if err := outer.QueryRow(`SELECT count(*) FROM information_schema.schemata WHERE schema_name = ?`, left).Scan(&n); err != nil || n != 0 {
		t.Errorf("the inner test's database %q is still there (%d, %v)", left, n, err)
	}
}

func TestSQLite(t *testing.T) {
	path, db := servicetest.SQLite(t)
	other, db2 := servicetest.SQLite(t)
	if path == other {
		t.Fatal("two databases share a file")
	}
	for _, db := range []*sql.DB{db, db2} {
		_, err := db.Exec(`CREATE TABLE mine (a int)`)
		assert.NoError(t, err)
	}
}
