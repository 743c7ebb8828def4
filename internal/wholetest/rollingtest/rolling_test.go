package rollingtest

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/pgdb"
)

const (
	keys = 10
	each = 30 // events of a key in a phase
)

// An upgrade of a working service, and the way back.
func TestRollingUpgrade(t *testing.T) {
	older, newer := releases(t, "service")
	pg, maria := os.Getenv("MILLRACE_POSTGRES_URL"), os.Getenv("MILLRACE_MARIADB_URL")
	file := func(t *testing.T) string { return "sqlite://" + filepath.Join(t.TempDir(), "service.db") }
	for name, c := range map[string]struct {
		db     func(*testing.T) string
		bus    string // "" for the database
		status bool
		fenced bool // old processes publish and handle nothing beside new ones
	}{
		"sqlite":           {db: file},
		"sqlite, status":   {db: file, status: true},
		"postgres":         {db: databaseOf(pg, pgdb.Open), fenced: true},
		"postgres, status": {db: databaseOf(pg, pgdb.Open), status: true, fenced: true},
		"mariadb":          {db: databaseOf(maria, mysqldb.Open)},
		"mariadb, status":  {db: databaseOf(maria, mysqldb.Open), status: true},
		"redis":            {db: file, bus: os.Getenv("MILLRACE_REDIS_URL")},
		"kafka":            {db: file, bus: "kafka://" + os.Getenv("MILLRACE_KAFKA_BROKERS")},
		"rabbitmq":         {db: file, bus: os.Getenv("MILLRACE_RABBITMQ_URL")},
	} {
		t.Run(name, func(t *testing.T) {
			db := c.db(t)
			if c.bus == "" {
				c.bus = db
			}
			r := &roll{t: t, journal: filepath.Join(t.TempDir(), "journal"), args: []string{
				"-db", db, "-bus", c.bus, "-topic", fmt.Sprint("rolling-", time.Now().UnixNano()), "-keys", fmt.Sprint(keys), fmt.Sprintf("-status=%t", c.status),
			}}
			old := r.start(older, "older")
			r.produce(older)
			r.wait()
			fresh := r.start(newer, "newer")
			r.produce(older)
			r.produce(newer)
			r.wait()
			r.stop(old, !c.fenced)
			r.produce(newer)
			r.wait()
			if !c.fenced {
				back := r.start(older, "back")
				r.stop(fresh, true)
				r.produce(older)
				r.wait()
				r.stop(back, true)
			} else {
				r.stop(fresh, true)
			}
			r.judge()
		})
	}
}

// build builds a program of testdata with an older release: its main.go, and older.txt where
// the program has parts that the two releases write differently.
func build(t *testing.T, from, program, to string) {
	t.Helper()
	tree := t.TempDir()
	run(t, "../../..", "git", "archive", "--output", filepath.Join(tree, "tree.tar"), from)
	run(t, tree, "tar", "-xf", "tree.tar")
	text, err := os.ReadFile(filepath.Join("testdata", program, "main.go"))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(tree, "cmd/rolling"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(tree, "cmd/rolling/main.go"), text, 0o600))
	if text, err := os.ReadFile(filepath.Join("testdata", program, "older.txt")); err == nil {
		require.NoError(t, os.WriteFile(filepath.Join(tree, "cmd/rolling/older.go"), text, 0o600))
	}
	run(t, tree, "env", "GOWORK=off", "go", "build", "-o", to, "./cmd/rolling")
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %s\n%s", name, strings.Join(args, " "), out)
}

// databaseOf makes a database for each test on the server of a URL.
func databaseOf(server string, open func(string) (*sql.DB, error)) func(t *testing.T) string {
	return func(t *testing.T) string {
		require.NotEmpty(t, server, "the server's URL is missing: run make rolling")
		db, err := open(server)
		require.NoError(t, err)
		t.Cleanup(func() { db.Close() }) //nolint:errcheck // the test ends
		name := fmt.Sprint("rolling_", time.Now().UnixNano())
		_, err = db.Exec("CREATE DATABASE " + name)
		require.NoError(t, err)
		t.Cleanup(func() {
			_, err := db.ExecContext(context.WithoutCancel(t.Context()), "DROP DATABASE "+name)
			require.NoError(t, err)
		})
		place, params, _ := strings.Cut(server, "?")
		return place[:strings.LastIndex(place, "/")+1] + name + "?" + params
	}
}

// roll is a service on its way from one release to another.
type roll struct {
	t        *testing.T
	args     []string
	journal  string
	produced int // of each key
}

// process is one of a service.
type process struct {
	cmd  *exec.Cmd
	said bytes.Buffer
	done chan error
}

// start starts a process that relays and consumes.
func (r *roll) start(program, name string) *process {
	r.t.Helper()
	p := &process{cmd: exec.Command(program, append([]string{"-journal", r.journal, "-name", name}, r.args...)...), done: make(chan error, 1)}
	p.cmd.Stderr = &p.said
	require.NoError(r.t, p.cmd.Start())
	go func() { p.done <- p.cmd.Wait() }()
	r.t.Cleanup(func() {
		p.cmd.Process.Kill() //nolint:errcheck // it may have ended
		if r.t.Failed() {
			r.t.Logf("%s said\n%s", name, &p.said)
		}
	})
	return p
}

// stop ends a process, in good order unless it has lost its tables.
func (r *roll) stop(p *process, orderly bool) {
	r.t.Helper()
	p.cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended
	select {
	case err := <-p.done:
		p.done <- err
		if orderly {
			require.NoError(r.t, err, &p.said)
		}
	case <-time.After(2 * time.Minute):
		require.Fail(r.t, "the process does not end")
	}
}

// produce appends the next events, with a release's own outbox.
func (r *roll) produce(program string) {
	r.t.Helper()
	run(r.t, ".", program, append([]string{"-first", fmt.Sprint(r.produced + 1), "-rounds", fmt.Sprint(each)}, r.args...)...)
	r.produced += each
}

// entries are the handled events, in their order.
func (r *roll) entries() (all []entry) {
	text, err := os.ReadFile(r.journal)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		var e entry
		if _, err := fmt.Sscan(line, &e.key, &e.n, &e.by); err == nil {
			all = append(all, e)
		}
	}
	return all
}

type entry struct {
	key string
	n   int
	by  string
}

// wait waits until all events were handled.
func (r *roll) wait() {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		distinct := map[entry]bool{}
		for _, e := range r.entries() {
			distinct[entry{e.key, e.n, ""}] = true
		}
		return len(distinct) == keys*r.produced
	}, 2*time.Minute, 50*time.Millisecond, "not everything is handled")
}

// judge compares the journal with the promise: each event at least once, first handlings
// of a key in order.
func (r *roll) judge() {
	last, by, again := map[string]int{}, map[string]int{}, 0
	for _, e := range r.entries() {
		by[e.by]++
		switch {
		case e.n <= last[e.key]:
			again++
		default:
			require.Equal(r.t, last[e.key]+1, e.n, "the next of key %s", e.key)
			last[e.key] = e.n
		}
	}
	require.Len(r.t, last, keys)
	r.t.Logf("%d events of each key, handled by %v, %d of them again", r.produced, by, again)
}
