package servicetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"net/url"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/mysqldb"
)

// MariaDB returns a pool on a fresh database. Both end with the test.
func MariaDB(t testing.TB) *sql.DB {
	t.Helper()
	db, err := mysqldb.Open(MariaDBURL(t))
	if err != nil {
		t.Fatalf("open MariaDB: %v", err)
	}
	// Registered after the database's cleanup, hence run before it.
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close MariaDB: %v", err)
		}
	})
	return db
}

// MariaDBURL returns the URL of a fresh database, without parameters. It is
// dropped at the test's end.
func MariaDBURL(t testing.TB) string {
	t.Helper()
	base := Env(t, "MILLRACE_MARIADB_URL", "MariaDB or MySQL", "mysql://user:password@127.0.0.1:3306/name")
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal("MILLRACE_MARIADB_URL is no valid URL") // its parse error would print the password
	}
	id := make([]byte, 8)
	rand.Read(id) //nolint:errcheck // never fails
	name := "t_" + hex.EncodeToString(id)

	adminMariaDB(t, base, `CREATE DATABASE `+name)
	t.Cleanup(func() { adminMariaDB(t, base, `DROP DATABASE `+name) })
	u.Path, u.RawQuery = "/"+name, ""
	return u.String()
}

// adminMariaDB is admin for MariaDB.
func adminMariaDB(t testing.TB, base, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	db, err := mysqldb.Open(base)
	if err != nil {
		t.Fatalf("MILLRACE_MARIADB_URL: %v", err)
	}
	defer db.Close() //nolint:errcheck // a test's side connection
	if _, err := db.ExecContext(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
