package upgradetest

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/pgdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine has the programs of PostgreSQL, and the way to run them.
type machine struct {
	old, fresh string // folders of programs
	root       string // entered by chroot, "" for none
	data       string // as the programs see it
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{old: os.Getenv("MILLRACE_PG_OLD"), fresh: os.Getenv("MILLRACE_PG_NEW"), root: os.Getenv("MILLRACE_PG_ROOT")}
	if m.old == "" || m.fresh == "" {
		t.Skip("needs the programs of two versions of PostgreSQL: run make upgrade, or set MILLRACE_PG_OLD and MILLRACE_PG_NEW")
	}
	// A short path, because it contains sockets.
	dir, err := os.MkdirTemp(filepath.Join(m.root, "/var/tmp"), "upgrade")
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, os.RemoveAll(dir))
	})
	m.data = strings.TrimPrefix(dir, strings.TrimSuffix(m.root, "/"))
	if os.Getuid() == 0 {
		m.do(t, "root", "chown", "postgres", m.data)
	}
	return m
}

// do runs a program as a user, in the folder of the data.
func (m *machine) do(t *testing.T, user string, words ...string) string {
	t.Helper()
	if os.Getuid() == 0 {
		switch {
		case m.root != "":
			words = append([]string{"chroot", "--userspec=" + user, m.root, "sh", "-c", `cd "$0" && exec "$@"`, m.data}, words...)
		case user != "root":
			words = append([]string{"runuser", "-u", user, "--"}, words...)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	if m.root == "" {
		cmd.Dir = m.data
	}
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PGUSER=millrace")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, out)
	}
	return string(out)
}

// cluster is a server's data with the programs of a version.
type cluster struct {
	*machine
	bin, dir string
	port     int
}

// cluster makes a cluster of a version.
func (m *machine) cluster(t *testing.T, name, bin string) *cluster {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	c := &cluster{m, bin, m.data + "/" + name, l.Addr().(*net.TCPAddr).Port}
	m.do(t, "postgres", bin+"/initdb", "-D", c.dir, "-U", "millrace", "-A", "trust", "-E", "UTF8", "--locale=C", "--data-checksums", "--no-sync")
	return c
}

// start starts the server; it is stopped by stop, or with the test.
func (c *cluster) start(t *testing.T) (stop func()) {
	t.Helper()
	settings := fmt.Sprintf("-p %d -c listen_addresses=127.0.0.1 -c unix_socket_directories=%s -c fsync=off", c.port, c.data)
	c.do(t, "postgres", c.bin+"/pg_ctl", "-D", c.dir, "-l", c.dir+".log", "-o", settings, "-w", "start")
	running := true
	stop = func() {
		if running {
			running = false
			c.do(t, "postgres", c.bin+"/pg_ctl", "-D", c.dir, "-m", "fast", "-w", "stop")
		}
	}
	t.Cleanup(stop)
	return stop
}

func (c *cluster) url() string {
	return fmt.Sprintf("postgres://millrace@127.0.0.1:%d/postgres?sslmode=disable", c.port)
}

// open returns a pool on the server, and the function that closes it.
func (c *cluster) open(t *testing.T) (*sql.DB, func()) {
	t.Helper()
	db, err := pgdb.Open(c.url())
	require.NoError(t, err)
	done := false
	return db, func() {
		if done {
			return
		}
		done = true
		assert.NoError(t, db.Close())
	}
}

// upgrade moves the data of old to c, as pg_upgrade does. Neither runs.
func (c *cluster) upgrade(t *testing.T, old *cluster) {
	t.Helper()
	out := c.do(t, "postgres", c.bin+"/pg_upgrade", "-b", old.bin, "-B", c.bin, "-d", old.dir, "-D", c.dir, "-U", "millrace",
		"-p", fmt.Sprint(old.port), "-P", fmt.Sprint(c.port))
	t.Logf("pg_upgrade: %s", lastLines(out, 12))
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
