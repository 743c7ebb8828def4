package doctor_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
	"github.com/millrace-go/millrace/cmd/millrace/internal/doctor"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/internal/sqlname"
	"github.com/millrace-go/millrace/internal/transporttest/natstest"
	"github.com/millrace-go/millrace/internal/transporttest/snstest"
)

func TestGoodServers(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{
		"postgres": servicetest.PostgresURL, "mariadb": servicetest.MariaDBURL, "mysql": servicetest.MySQLURL, "redis": servicetest.Redis, "rabbitmq": servicetest.RabbitMQ,
		"cluster": func(t testing.TB) string { return "redis://" + servicetest.RedisCluster(t) + "/" },
		"kafka":   func(t testing.TB) string { return "kafka://" + servicetest.Kafka(t) + "/" },
		"nats":    natstest.Server,
		"sqs":     func(t testing.TB) string { return "sqs://key:s3cret@elasticmq/?endpoint=" + servicetest.SQS(t) },
		"sns": func(t testing.TB) string {
			_, endpoint := snstest.Start(t, servicetest.SQS(t))
			return "sns://key:s3cret@elasticmq/?endpoint=" + endpoint
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := examine(t, doctor.Any, url(t))
			healthy(t, r)
			if strings.Contains(r.URL, "@") || strings.Contains(r.URL, "?") {
				t.Errorf("the URL is shown as %s", r.URL)
			}
			if name == "postgres" || name == "mariadb" || name == "mysql" || name == "redis" {
				want(t, r, doctor.OK, "clock", "agree")
			}
		})
	}
}

func TestRefused(t *testing.T) {
	servicetest.EachMySQL(t, func(t *testing.T, server servicetest.MySQLServer) {
		raw := server.URL(t)
		want(t, examine(t, doctor.Database, replaced(t, raw, func(u *url.URL) { u.User = url.UserPassword("millrace", "gehe1m-w0rt") })),
			doctor.Error, "authentication", `does not let user "millrace" in`)
		r := examine(t, doctor.Database, replaced(t, raw, func(u *url.URL) { u.Path = "/no_such_shop" }))
		assert.Truef(t, says(r, doctor.Error, "database", "no_such_shop"), "of a database that is not there it says %+v", r)
		want(t, examine(t, doctor.Database, raw+"?tls=true"), doctor.Error, "tls", "")
	})
	t.Run("postgres", func(t *testing.T) {
		raw := servicetest.PostgresURL(t)
		want(t, examine(t, doctor.Database, replaced(t, raw, func(u *url.URL) { u.Path = "/no_such_shop" })), doctor.Error, "database", `no database "no_such_shop"`)
		want(t, examine(t, doctor.Database, replaced(t, raw, func(u *url.URL) { u.User = url.User("nobody_at_all") })), doctor.Error, "authentication", "")
	})
	t.Run("rabbitmq", func(t *testing.T) {
		raw := servicetest.RabbitMQ(t)
		want(t, examine(t, doctor.Transport, replaced(t, raw, func(u *url.URL) { u.User = url.UserPassword("millrace", "gehe1m-w0rt") })), doctor.Error, "authentication", `user "millrace"`)
		want(t, examine(t, doctor.Transport, replaced(t, raw, func(u *url.URL) { u.Path = "/no_such_vhost" })), doctor.Error, "database", `no vhost "no_such_vhost"`)
	})
	t.Run("redis", func(t *testing.T) {
		address := redisServer(t, "--requirepass", "r1ght-w0rd", "--appendonly", "yes")
		healthy(t, examine(t, doctor.Redis, "redis://:r1ght-w0rd@"+address+"/0"))
		want(t, examine(t, doctor.Redis, "redis://:gehe1m-w0rt@"+address+"/0"), doctor.Error, "authentication", "wrong")
		want(t, examine(t, doctor.Redis, "redis://"+address+"/0"), doctor.Error, "authentication", "wants a password")
		want(t, examine(t, doctor.Redis, "redis://:r1ght-w0rd@"+address+"/99"), doctor.Error, "database", "no database of this number")
		want(t, examineIn(t, time.Second, doctor.Redis, "rediss://:r1ght-w0rd@"+address+"/0"), doctor.Error, "answers", "says nothing")
		want(t, examine(t, doctor.Redis, "redis://:r1ght-w0rd@"+address+"/?cluster=true"), doctor.Error, "cluster", "is no cluster")
	})
	t.Run("sentinels", func(t *testing.T) {
		master, sentinel := redistest.StartServer(t, "--appendonly", "yes"), redistest.StartSentinel(t)
		redistest.Watch(t, "mymaster", master, 0, sentinel)
		url := "redis://127.0.0.1:1," + sentinel.Address + "/0?master="
		r := examine(t, doctor.Redis, url+"mymaster")
		want(t, r, doctor.Warning, "reachable", "127.0.0.1:1")
		want(t, r, doctor.OK, "version", "")
		want(t, examine(t, doctor.Redis, url+"elsewhere"), doctor.Error, "sentinels", `none of them knows "elsewhere"`)
		want(t, examine(t, doctor.Redis, url+"mymaster&sentinel_password=gehe1m-w0rt"), doctor.OK, "version", "")
		want(t, examine(t, doctor.Redis, "redis://"+master.Address+"/0?master=mymaster"), doctor.Error, "sentinels", "are Sentinels")
		want(t, examine(t, doctor.Redis, url), doctor.Error, "url", `"master" is empty`)
		master.Kill()
		want(t, examine(t, doctor.Redis, url+"mymaster"), doctor.Error, "answers", master.Address)
	})
	t.Run("kafka", func(t *testing.T) {
		brokers := servicetest.Kafka(t)
		want(t, examine(t, doctor.Transport, "kafka://"+brokers+"/?tls=true"), doctor.Error, "answers", "hangs up")
		want(t, examine(t, doctor.Transport, "kafka://app:gehe1m-w0rt@"+brokers+"/?sasl=plain"), doctor.Error, "authentication", "by this mechanism")
		want(t, examine(t, doctor.Transport, "kafka://app:gehe1m-w0rt@"+brokers+"/"), doctor.Error, "url", "sasl")
	})
}

func TestSettings(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		address := redisServer(t, "--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru", "--appendonly", "no")
		for purpose, level := range map[doctor.Purpose]doctor.Level{doctor.Redis: doctor.Warning, doctor.Transport: doctor.Error} {
			r := examine(t, purpose, "redis://"+address+"/0")
			want(t, r, doctor.Error, "maxmemory-policy", "allkeys-lru")
			want(t, r, level, "appendonly", "a restart loses")
		}
		careless := redisServer(t, "--appendonly", "yes", "--appendfsync", "no")
		want(t, examine(t, doctor.Redis, "redis://"+careless+"/0"), doctor.Warning, "appendfsync", "appendfsync is no")
		careful := redisServer(t, "--appendonly", "yes", "--appendfsync", "always")
		want(t, examine(t, doctor.Redis, "redis://"+careful+"/0"), doctor.OK, "appendonly", "and a crash of the machine")
		want(t, examine(t, doctor.Redis, "redis://"+careful+"/0"), doctor.OK, "replication-id", "sees a promotion")
		bound := redisServer(t, "--appendonly", "yes")
		admin := redis.NewClient(&redis.Options{Addr: bound})
		defer admin.Close()
		require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "app", "on", ">r1ght-w0rd", "~*", "+@all", "-@scripting").Err())
		r := examine(t, doctor.Redis, "redis://app:r1ght-w0rd@"+bound+"/0")
		want(t, r, doctor.Error, "scripts", "may not run scripts")
	})
	t.Run("replicas", func(t *testing.T) {
		master := redisServer(t, "--appendonly", "yes")
		replica := redisServer(t, "--appendonly", "yes", "--replicaof", strings.Replace(master, ":", " ", 1))
		client := redis.NewClient(&redis.Options{Addr: master})
		defer client.Close()
		for deadline := time.Now().Add(20 * time.Second); ; {
			info, err := client.Info(t.Context(), "replication").Result()
			if err == nil && strings.Contains(info, "connected_slaves:1") {
				break
			}
			require.Falsef(t, time.Now().After(deadline), "no replica comes: %v", err)
		}
		want(t, examine(t, doctor.Redis, "redis://"+master+"/0"), doctor.Warning, "replicas", "takes writes when its replicas are gone")
		want(t, examine(t, doctor.Redis, "redis://"+replica+"/0"), doctor.Error, "writable", "is a replica")
		require.NoError(t, client.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
		if r := examine(t, doctor.Redis, "redis://"+master+"/0"); says(r, doctor.Warning, "replicas", "") {
			t.Errorf("with min-replicas-to-write: %+v", r)
		}
	})
	t.Run("postgres", func(t *testing.T) {
		raw := servicetest.PostgresURL(t)
		loose := func(setting string) doctor.Result {
			return examine(t, doctor.Database, raw+"&options=-c%20"+url.QueryEscape(setting))
		}
		want(t, loose("synchronous_commit=off"), doctor.Error, "synchronous_commit", "lost")
		want(t, loose("default_transaction_read_only=on"), doctor.Error, "writable", "read-only")
		healthy(t, loose("synchronous_commit=local"))
	})
	t.Run("sqlite", func(t *testing.T) {
		path := file(t, "DELETE")
		want(t, examine(t, doctor.Database, "sqlite://"+path), doctor.Error, "journal_mode", "not WAL")
		good := file(t, "WAL")
		healthy(t, examine(t, doctor.Database, "sqlite://"+good))
		want(t, examine(t, doctor.Transport, "sqlite://"+good+"?synchronous=normal"), doctor.Warning, "synchronous", "power cut")
		want(t, examine(t, doctor.Database, "sqlite://"+filepath.Join(filepath.Dir(good), "none.db")), doctor.Error, "file", "there is no file")
		want(t, examine(t, doctor.Database, "sqlite:///no/such/folder/a.db"), doctor.Error, "file", "there is no folder")
		want(t, examine(t, doctor.Database, "sqlite://"+filepath.Dir(good)), doctor.Error, "file", "is a folder")
		text := filepath.Join(t.TempDir(), "text.db")
		require.NoError(t, os.WriteFile(text, bytes.Repeat([]byte("no database"), 1000), 0o600))
		want(t, examine(t, doctor.Database, "sqlite://"+text), doctor.Error, "file", "no database of SQLite")
	})
}

// The age and the holder of the oldest snapshot are reported. If the server hides them from
// this user, the missing grant is reported.
func TestSnapshots(t *testing.T) {
	for name, fresh := range map[string]func(testing.TB) string{"postgres": servicetest.PostgresURL, "mariadb": servicetest.MariaDBURL, "mysql": servicetest.MySQLURL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := fresh(t)
			d, err := database.Open(raw, true)
			require.NoError(t, err)
			defer d.Close()
			tx, err := d.DB.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			defer tx.Rollback() //nolint:errcheck // nothing is kept of it
			for _, statement := range []string{`CREATE TEMPORARY TABLE held (n INT)`, `INSERT INTO held VALUES (1)`} {
				_, err := tx.ExecContext(t.Context(), statement)
				require.NoError(t, err)
			}
			r := examine(t, doctor.Database, raw)
			want(t, r, doctor.OK, "snapshot", "the oldest snapshot is ")
		})
	}
	raw := servicetest.PostgresURL(t)
	d, err := database.Open(raw, true)
	require.NoError(t, err)
	defer d.Close()
	role := "r_" + strings.ToLower(rand.Text())
	execute(t, d.DB, `CREATE ROLE `+role)
	defer execute(t, d.DB, `DROP ROLE `+role)
	want(t, examine(t, doctor.Transport, raw+"&options=-c%20role%3D"+role), doctor.OK, "snapshot", "GRANT pg_read_all_stats")
}

// file is a database in a journal mode.
func file(t *testing.T, journal string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "app.db")
	db, err := sqlitedb.Open(path, sqlitedb.Config{})
	require.NoError(t, err)
	defer db.Close()
	_, err = db.Exec(`CREATE TABLE a (b)`)
	require.NoError(t, err)
	var now string
	if err := db.QueryRow(`PRAGMA journal_mode = ` + journal).Scan(&now); err != nil || !strings.EqualFold(now, journal) {
		t.Fatalf("the journal is in mode %s: %v", now, err)
	}
	return path
}

// eachDatabase runs a test on a fresh database of each kind.
func eachDatabase(t *testing.T, test func(t *testing.T, rawURL string, db *sql.DB, d database.Dialect)) {
	for name, fresh := range map[string]func(testing.TB) string{
		"postgres": servicetest.PostgresURL, "mariadb": servicetest.MariaDBURL, "mysql": servicetest.MySQLURL,
		"sqlite": func(t testing.TB) string { return "sqlite://" + filepath.Join(t.TempDir(), "app.db") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := fresh(t)
			d, err := database.Open(raw, true)
			require.NoError(t, err)
			t.Cleanup(func() {
				assert.NoError(t, d.Close())
			})
			test(t, raw, d.DB, d.Dialect)
		})
	}
}

func TestTables(t *testing.T) {
	eachDatabase(t, func(t *testing.T, raw string, db *sql.DB, dialect database.Dialect) {
		want(t, examine(t, doctor.Database, raw), doctor.Warning, "migrations", "no tables of Millrace")
		want(t, examine(t, doctor.Transport, raw), doctor.OK, "migrations", "no tables yet")
		want(t, examine(t, doctor.Database, raw, "outbox"), doctor.Error, "migrations", "tables of outbox are missing")
		up := func(layout string, names ...string) {
			t.Helper()
			parts, err := database.Parts(dialect, layout, sqlname.Names{}, names...)
			require.NoError(t, err)
			for _, p := range parts {
				for _, set := range p.Sets {
					require.NoError(t, set.Up(t.Context(), db))
				}
			}
		}
		up("processed_events", "outbox", "idempotency")
		r := examine(t, doctor.Database, raw, "outbox", "idempotency")
		healthy(t, r)
		want(t, r, doctor.OK, "migrations", "up to date: outbox, idempotency; not there: outbox-status, leases, counter, counter-log")
		up("", "bus", "outbox-status")
		healthy(t, examine(t, doctor.Any, raw, "bus", "outbox", "outbox-status"))
		want(t, examine(t, doctor.Database, raw, "counter"), doctor.Error, "migrations", "tables of counter are missing")
		up("", "counter", "counter-log")
		r = examine(t, doctor.Database, raw, "counter", "counter-log")
		healthy(t, r)
		want(t, r, doctor.OK, "migrations", "counter, counter-log; not there: leases")

		execute(t, db, `DELETE FROM millrace_outbox_version WHERE version_id = 1`)
		want(t, examine(t, doctor.Database, raw), doctor.Error, "migrations", "tables of outbox are behind")
		yes := map[database.Dialect]string{database.SQLite: "1"}[dialect]
		if yes == "" {
			yes = "true"
		}
		execute(t, db, `INSERT INTO millrace_outbox_version (version_id, is_applied) VALUES (1, `+yes+`), (9999, `+yes+`)`)
		want(t, examine(t, doctor.Database, raw), doctor.Warning, "migrations", "tables of outbox were made by a newer Millrace")
		execute(t, db, `INSERT INTO millrace_counter_log_version (version_id, is_applied) VALUES (9999, `+yes+`)`)
		want(t, examine(t, doctor.Database, raw), doctor.Warning, "migrations", "tables of counter-log were made by a newer Millrace")
	})
}

func execute(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	_, err := db.ExecContext(context.Background(), query)
	require.NoError(t, err, "%s", query)
}

// TestDoctorChangesNothing examines empty and used databases.
func TestDoctorChangesNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, raw string, db *sql.DB, dialect database.Dialect) {
		tables := func() (n int) {
			t.Helper()
			query := map[database.Dialect]string{
				database.SQLite:   `SELECT count(*) FROM sqlite_master`,
				database.Postgres: `SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema()`,
				database.MySQL:    `SELECT count(*) FROM information_schema.tables WHERE table_schema = database()`,
			}[dialect]
			require.NoError(t, db.QueryRow(query).Scan(&n))
			return n
		}
		for _, p := range []doctor.Purpose{doctor.Database, doctor.Transport, doctor.Any} {
			examine(t, p, raw)
		}
		if n := tables(); n != 0 {
			t.Errorf("the doctor made %d tables", n)
		}
	})
	path := file(t, "DELETE")
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	examine(t, doctor.Any, "sqlite://"+path)
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file has changed: %v", err)
	}
	if left, err := filepath.Glob(path + "?*"); err != nil || len(left) > 0 {
		t.Errorf("beside the file there are %v: %v", left, err)
	}
}
