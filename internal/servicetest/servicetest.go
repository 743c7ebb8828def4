// Package servicetest gives a test a schema, database or file of its own on a real database.
//
// PostgreSQL is used when MILLRACE_POSTGRES_URL names a server; each test gets
// a schema of its own, which is dropped at its end; through PgBouncer also an account. MariaDB and MySQL are used
// when MILLRACE_MARIADB_URL and MILLRACE_MYSQL_URL name them; each test gets a
// database of its own. The user of the URL must be allowed to make databases.
// Without the variable a test is skipped with the reason, or fails when
// MILLRACE_REQUIRE_SERVICES=1. SQLite always works, in a file of the test's folder.
package servicetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/sqlitedb"
)

// Postgres returns a pool on a fresh schema. Both end with the test.
func Postgres(t testing.TB) *sql.DB {
	t.Helper()
	db, err := pgdb.Open(PostgresURL(t))
	if err != nil {
		t.Fatalf("open PostgreSQL: %v", err)
	}
	// Registered after the schema's cleanup, hence run before it.
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close PostgreSQL: %v", err)
		}
	})
	return db
}

// PostgresURL returns the URL of a fresh schema: unqualified names are resolved and created
// there, and nowhere else. The schema is dropped at the end of the test.
func PostgresURL(t testing.TB) string {
	t.Helper()
	base := Env(t, "MILLRACE_POSTGRES_URL", "PostgreSQL", "postgres://user:password@127.0.0.1:5432/name")
	// The PgBouncer column of the matrix has its URL here.
	if base == os.Getenv("MILLRACE_PGBOUNCER_URL") {
		return PgBouncerURL(t)
	}
	schema := newSchema()
	admin(t, base, `CREATE SCHEMA `+schema)
	t.Cleanup(func() { admin(t, base, `DROP SCHEMA `+schema+` CASCADE`) })
	return withSearchPath(t, base, schema)
}

// PgBouncerURL is [PostgresURL] through a PgBouncer in transaction mode. It keeps no setting of a
// session, so the schema is a setting of an account, which is dropped too.
func PgBouncerURL(t testing.TB) string {
	t.Helper()
	const variable = "MILLRACE_PGBOUNCER_URL"
	base := Env(t, variable, "PgBouncer", "postgres://user:password@127.0.0.1:6432/name?default_query_exec_mode=exec")
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(variable + " is no valid URL") // its parse error would print the password
	}
	schema := newSchema()
	admin(t, base, `CREATE SCHEMA `+schema+`; CREATE ROLE `+schema+` LOGIN SUPERUSER; ALTER ROLE `+schema+` SET search_path = `+schema)
	t.Cleanup(func() { admin(t, base, `DROP SCHEMA `+schema+` CASCADE; DROP ROLE `+schema) })
	u.User = url.User(schema)
	return u.String()
}

func newSchema() string {
	id := make([]byte, 8)
	rand.Read(id) //nolint:errcheck // never fails
	return "t_" + hex.EncodeToString(id)
}

// Embedded begins a test that needs no server. The matrix (MILLRACE_SERVERS_ONLY=1) leaves it to
// make test, which runs it anyway; use it for tests of many seconds. A test that still requests
// a server fails.
func Embedded(t testing.TB) {
	t.Helper()
	if os.Getenv("MILLRACE_SERVERS_ONLY") == "1" {
		t.Skip("n/a: needs no server; make test runs it")
	}
	marked.Store(t.Name(), true)
	t.Cleanup(func() { marked.Delete(t.Name()) })
}

var marked sync.Map // the names of tests that Embedded began

// Served records that the test needs a server.
func Served(t testing.TB) {
	t.Helper()
	for name := t.Name(); name != "."; name = path.Dir(name) {
		if _, is := marked.Load(name); is {
			t.Fatalf("%s is marked by servicetest.Embedded, and needs a server: take the mark away", name)
		}
	}
}

// Missing ends a test whose server is missing: it skips with the reason, or fails when
// MILLRACE_REQUIRE_SERVICES=1.
func Missing(t testing.TB, reason string) {
	t.Helper()
	Served(t)
	if os.Getenv("MILLRACE_REQUIRE_SERVICES") == "1" {
		t.Fatal(reason + " (MILLRACE_REQUIRE_SERVICES=1 forbids to skip)")
	}
	t.Skip(reason)
}

// Env returns the address of a server from the environment: its URL, or a list of host:port. A
// test for which it is not set ends as in [Missing]. The reason contains the server's name and
// an example.
func Env(t testing.TB, variable, server, example string) string {
	t.Helper()
	Served(t)
	value := os.Getenv(variable)
	if value == "" {
		Missing(t, "needs "+server+": set "+variable+", e.g. "+example+" (make services prints it)")
	}
	return value
}

// Redis returns the URL of a Redis server. Its keyspace is shared: a test uses
// names of its own and flushes nothing.
func Redis(t testing.TB) string {
	t.Helper()
	return Env(t, "MILLRACE_REDIS_URL", "Redis", "redis://127.0.0.1:6379/0")
}

// RedisCluster returns the addresses of a Redis Cluster, separated by commas.
func RedisCluster(t testing.TB) string {
	t.Helper()
	return Env(t, "MILLRACE_REDIS_CLUSTER", "a Redis Cluster", "127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003")
}

// RabbitMQ returns the URL of a RabbitMQ server.
func RabbitMQ(t testing.TB) string {
	t.Helper()
	return Env(t, "MILLRACE_RABBITMQ_URL", "RabbitMQ", "amqp://guest:guest@127.0.0.1:5672/")
}

// Kafka returns the addresses of Kafka brokers, separated by commas.
func Kafka(t testing.TB) string {
	t.Helper()
	return Env(t, "MILLRACE_KAFKA_BROKERS", "Apache Kafka", "127.0.0.1:9092")
}

// SQS returns the endpoint of a server that speaks Amazon SQS, ElasticMQ for one.
func SQS(t testing.TB) string {
	t.Helper()
	return Env(t, "MILLRACE_SQS_ENDPOINT", "a server that speaks SQS, such as ElasticMQ", "http://127.0.0.1:9324")
}

// DynamoDB returns the URL of a server that speaks Amazon DynamoDB, DynamoDB
// Local for one. Its tables are shared: a test makes tables of its own.
func DynamoDB(t testing.TB) string {
	t.Helper()
	return Env(t, "MILLRACE_DYNAMODB_URL", "a server that speaks DynamoDB, such as DynamoDB Local", "http://127.0.0.1:8000")
}

// admin runs one statement on a connection of its own. If a test left a transaction open, the
// timeout turns the hang into an error.
func admin(t testing.TB, base, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	db, err := pgdb.Open(base)
	if err != nil {
		t.Fatalf("MILLRACE_POSTGRES_URL: %v", err)
	}
	defer db.Close() //nolint:errcheck // a test's side connection
	if _, err := db.ExecContext(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func withSearchPath(t testing.TB, base, schema string) string {
	t.Helper()
	if !strings.Contains(base, "://") {
		return base + " search_path=" + schema
	}
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal("MILLRACE_POSTGRES_URL is no valid URL") // its parse error would print the password
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String()
}

// SQLite returns a writer pool on a fresh file, and its path. The pool is
// closed and the file removed at the test's end.
func SQLite(t testing.TB) (path string, db *sql.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "test.db")
	// Tests kill processes at most, not the machine: NORMAL spares the disk.
	db, err := sqlitedb.Open(path, sqlitedb.Config{Synchronous: sqlitedb.Normal})
	if err != nil {
		t.Fatalf("open SQLite: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close SQLite: %v", err)
		}
	})
	return path, db
}
