package servicetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/mysqldb"
)

// MySQLServer is a server that speaks MySQL's protocol.
type MySQLServer struct {
	Name     string // mariadb or mysql, as in the names of subtests
	title    string
	variable string
}

var (
	mariaDB = MySQLServer{"mariadb", "MariaDB", "MILLRACE_MARIADB_URL"}
	mySQL   = MySQLServer{"mysql", "MySQL", "MILLRACE_MYSQL_URL"}
)

// MySQLServers returns the servers on which tests are run.
func MySQLServers() []MySQLServer { return []MySQLServer{mariaDB, mySQL} }

// EachMySQL runs a test on MariaDB and on MySQL, as subtests of these names. If a server is
// missing, its subtest ends as in [Missing]; the other runs.
func EachMySQL(t *testing.T, run func(t *testing.T, s MySQLServer)) {
	t.Helper()
	for _, s := range MySQLServers() {
		t.Run(s.Name, func(t *testing.T) {
			s.Base(t)
			chosen.Store(t.Name(), s)
			run(t, s)
		})
	}
}

// chosen are the servers of the subtests that EachMySQL runs, by their names.
var chosen sync.Map

// Chosen returns the server on which [EachMySQL] runs a test, also in a subtest, for helpers
// whose only argument is a test. A benchmark runs on MariaDB.
func Chosen(t testing.TB) MySQLServer {
	t.Helper()
	for name := t.Name(); name != ""; name = name[:max(0, strings.LastIndexByte(name, '/'))] {
		if s, ok := chosen.Load(name); ok {
			return s.(MySQLServer)
		}
	}
	if _, ok := t.(*testing.B); !ok {
		t.Fatal("the test does not run in servicetest.EachMySQL")
	}
	return mariaDB
}

// MariaDB returns a pool on a fresh database of MariaDB. Both end with the test.
func MariaDB(t testing.TB) *sql.DB { return mariaDB.DB(t) }

// MariaDBURL returns the URL of a fresh database of MariaDB, without parameters.
// It is dropped at the test's end.
func MariaDBURL(t testing.TB) string { return mariaDB.URL(t) }

// MySQL is [MariaDB] for MySQL.
func MySQL(t testing.TB) *sql.DB { return mySQL.DB(t) }

// MySQLURL is [MariaDBURL] for MySQL.
func MySQLURL(t testing.TB) string { return mySQL.URL(t) }

// DB returns a pool on a fresh database. Both end with the test.
func (s MySQLServer) DB(t testing.TB) *sql.DB {
	t.Helper()
	db, err := mysqldb.Open(s.URL(t))
	if err != nil {
		t.Fatalf("open %s: %v", s.title, err)
	}
	// Registered after the database's cleanup, hence run before it.
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close %s: %v", s.title, err)
		}
	})
	return db
}

// URL returns the URL of a fresh database, without parameters. It is dropped at
// the test's end.
func (s MySQLServer) URL(t testing.TB) string {
	t.Helper()
	url, drop := s.Kept(t)
	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Fatal(err)
		}
	})
	return url
}

// Kept is URL for a database that stays until drop is called.
func (s MySQLServer) Kept(t testing.TB) (_ string, drop func() error) {
	t.Helper()
	base := s.Base(t)
	u, err := url.Parse(base)
	if err != nil {
		t.Fatalf("%s is no valid URL", s.variable) // its parse error would print the password
	}
	id := make([]byte, 8)
	rand.Read(id) //nolint:errcheck // never fails
	name := "t_" + hex.EncodeToString(id)
	if err := s.admin(base, `CREATE DATABASE `+name); err != nil {
		t.Fatal(err)
	}
	u.Path, u.RawQuery = "/"+name, ""
	return u.String(), func() error { return s.admin(base, `DROP DATABASE `+name) }
}

// Base returns the URL of the server itself, whose database the tests share.
func (s MySQLServer) Base(t testing.TB) string {
	t.Helper()
	return Env(t, s.variable, s.title, "mysql://user:password@127.0.0.1:3306/name")
}

// IsMariaDB distinguishes MariaDB from MySQL, for tests that depend on it.
func (s MySQLServer) IsMariaDB() bool { return s == mariaDB }

// admin is the package's admin for these servers.
func (s MySQLServer) admin(base, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	db, err := mysqldb.Open(base)
	if err != nil {
		return fmt.Errorf("%s: %w", s.variable, err)
	}
	defer db.Close() //nolint:errcheck // a test's side connection
	if _, err := db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}
