package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// TestCtrlCBench interrupts a long benchmark in a process of its own: it ends with 130,
// shows its measurements so far, and leaves nothing behind.
func TestCtrlCBench(t *testing.T) {
	dir, place := t.TempDir(), "c"+strings.ReplaceAll(uuid.NewString()[:18], "-", "") // a unique name
	for name, at := range map[string]struct {
		flag string
		url  func(testing.TB) string
		at   string // the step at which Ctrl-C is pressed
		left func(t *testing.T, url string) bool
	}{
		"sqlite": {"--db", func(testing.TB) string { return "sqlite://" + filepath.Join(dir, "app.db") }, "appending events", func(t *testing.T, _ string) bool {
			left, err := os.ReadDir(dir)
			return err != nil || len(left) > 0
		}},
		"postgres": {"--db", servicetest.PostgresURL, "appending events", func(t *testing.T, url string) bool {
			db, err := pgdb.Open(url)
			require.NoError(t, err)
			defer db.Close()
			var there bool
			require.NoError(t, db.QueryRow(`SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)`, place).Scan(&there))
			return there
		}},
		"redis": {"--redis", servicetest.Redis, "asking the limiter, 64 at a time", func(t *testing.T, url string) bool {
			client, err := redisdb.Open(url, redisdb.Config{})
			require.NoError(t, err)
			defer client.Close()
			n, err := client.Exists(t.Context(), "{"+place+"}:running", "{"+place+"}:global", "{"+place+"}:low_cap").Result()
			return err != nil || n > 0
		}},
	} {
		t.Run(name, func(t *testing.T) {
			url := at.url(t)
			seconds := "60"
			if name == "redis" { // the first of its two parts is to end
				seconds = "2"
			}
			cmd := millrace("bench", at.flag, url, "--seconds", seconds, "--name", place)
			code, out, errs := interruptAt(t, cmd, at.at)
			if code != 130 || !strings.Contains(errs, "interrupted") || !strings.Contains(errs, "removed ") {
				t.Errorf("it ends with %d and says %s\n%s", code, out, errs)
			}
			if name == "redis" && !strings.Contains(out, "1 caller") {
				t.Errorf("it does not show what it has measured: %s", out)
			}
			assert.False(t, at.left(t, url), "something is left behind")
		})
	}
}

// The reader of a benchmark's progress ends, such as head: the benchmark still removes what
// it has made.
func TestBenchOutlivesItsReader(t *testing.T) {
	dir := t.TempDir()
	cmd := millrace("bench", "--db", "sqlite://"+filepath.Join(dir, "app.db"), "--seconds", "1")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	says, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.True(t, bufio.NewScanner(says).Scan())
	require.NoError(t, says.Close())
	assert.Equal(t, 0, code(t, cmd.Wait()), "it ends with")
	assert.Contains(t, stdout.String(), "outbox append")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left, "left behind")
}

// interruptAt sends Ctrl-C when a program prints words on its standard error.
func interruptAt(t *testing.T, cmd *exec.Cmd, words string) (exit int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout = &stdout
	says, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	// The program is killed with the test, even if it ignores signals.
	stop := context.AfterFunc(t.Context(), func() { _ = cmd.Process.Kill() })
	defer stop()
	lines := bufio.NewScanner(io.TeeReader(says, &stderr))
	pressed := false
	for lines.Scan() {
		if !pressed && strings.Contains(lines.Text(), words) {
			pressed = true
			assert.NoError(t, cmd.Process.Signal(os.Interrupt))
		}
	}
	exit = code(t, cmd.Wait())
	require.Truef(t, pressed, "it never says %q, and ends with %d: %s", words, exit, &stderr)
	return exit, stdout.String(), stderr.String()
}
