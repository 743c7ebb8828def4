package environment

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/servicetest"
)

// A pool of go-redis that could not dial sleeps a second before it sees that it is closed.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func TestDirty(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	dir := t.TempDir()
	write := func(name string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(t.Name()), 0o600))
	}
	git(t, dir, "init", "-q")
	write("code.go")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "first")
	clean := Of(t.Context(), dir, "proof/results", "proof/REPORT.md")
	if clean.Dirty || len(clean.Commit) != 40 {
		t.Errorf("%+v", clean)
	}
	if clean.Cores < 1 || clean.Go == "" || clean.Date.IsZero() {
		t.Errorf("%+v", clean)
	}
	write("proof/results/queue.json")
	write("proof/REPORT.md")
	if e := Of(t.Context(), dir, "proof/results", "proof/REPORT.md"); e.Dirty {
		t.Error("what a run writes makes the tree dirty")
	}
	write("more.go")
	if e := Of(t.Context(), dir, "proof/results", "proof/REPORT.md"); !e.Dirty || e.Commit != clean.Commit {
		t.Errorf("a new file makes no tree dirty: %+v", e)
	}
}

func TestNoRepository(t *testing.T) {
	if e := Of(t.Context(), t.TempDir()); e.Commit != "unknown" || !e.Dirty {
		t.Errorf("%+v", e)
	}
}

func TestServers(t *testing.T) {
	for name, a := range map[string]func(testing.TB) Addresses{
		"PostgreSQL": func(t testing.TB) Addresses {
			return Addresses{Postgres: servicetest.Env(t, "MILLRACE_POSTGRES_URL", "PostgreSQL", "postgres://user@127.0.0.1:5432/name")}
		},
		"MariaDB": func(t testing.TB) Addresses {
			return Addresses{MariaDB: servicetest.Env(t, "MILLRACE_MARIADB_URL", "MariaDB", "mysql://user@127.0.0.1:3306/name")}
		},
		"MySQL": func(t testing.TB) Addresses {
			return Addresses{MySQL: servicetest.Env(t, "MILLRACE_MYSQL_URL", "MySQL", "mysql://user@127.0.0.1:3306/name")}
		},
		"Redis":         func(t testing.TB) Addresses { return Addresses{Redis: servicetest.Redis(t)} },
		"Redis Cluster": func(t testing.TB) Addresses { return Addresses{RedisCluster: servicetest.RedisCluster(t)} },
		"RabbitMQ":      func(t testing.TB) Addresses { return Addresses{RabbitMQ: servicetest.RabbitMQ(t)} },
		"Kafka":         func(t testing.TB) Addresses { return Addresses{Kafka: servicetest.Kafka(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Servers(t.Context(), a(t))
			if err != nil || len(got) != 1 || !strings.ContainsAny(got[name], "0123456789") {
				t.Errorf("%v, %v", got, err)
			}
			t.Log(got)
		})
	}
}

func TestNoAnswer(t *testing.T) {
	for name, a := range map[string]Addresses{
		"PostgreSQL": {Postgres: "postgres://user:secret@127.0.0.1:1/name"}, "MariaDB": {MariaDB: "mysql://user:secret@127.0.0.1:1/name"},
		"MySQL": {MySQL: "mysql://user:secret@127.0.0.1:1/name"},
		"Redis": {Redis: "redis://user:secret@127.0.0.1:1/0"}, "RabbitMQ": {RabbitMQ: "amqp://user:secret@127.0.0.1:1/"}, "Kafka": {Kafka: "127.0.0.1:1"},
	} {
		if _, err := Servers(t.Context(), a); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := Servers(t.Context(), Addresses{}); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}
