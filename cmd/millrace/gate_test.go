package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGate runs the gate as a process: a flags file and a secret file, SIGHUP with a
// mistake and without one, and SIGTERM.
func TestGate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGHUP")
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "the site at ", r.URL.Path) //nolint:errcheck // the client tells
	}))
	defer site.Close()
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	cmd := millrace("gate", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--to", site.URL, "--secret-file", write("secret", strings.Repeat("s", 32)+"\n"),
		"--flags", write("flags", "event sale\nthreshold 3\npass /static/**\npass /robots.txt\n"))
	cmd.Env = append(cmd.Env, "MILLRACE_REDIS_URL=") // the room is in memory
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	told, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer cmd.Process.Kill() //nolint:errcheck // it has ended
	lines, logs := bufio.NewScanner(out), bufio.NewScanner(told)
	address := func(what string) string {
		if !lines.Scan() {
			t.Fatalf("the gate ended before it named its %s: %v", what, lines.Err())
		}
		_, at, _ := strings.Cut(lines.Text(), ": ")
		return at
	}
	said := func(text string) {
		t.Helper()
		for logs.Scan() {
			if strings.Contains(logs.Text(), text) {
				return
			}
		}
		t.Fatalf("the gate never said %q", text)
	}
	visitors, operators := address("listener"), address("operator's listener")
	get := func(url string) (int, string) {
		t.Helper()
		answer, err := http.Get(url)
		require.NoError(t, err)
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		return answer.StatusCode, string(body)
	}
	want := func(status int, text, url string) {
		t.Helper()
		if code, body := get(url); code != status || !strings.Contains(body, text) {
			t.Errorf("%s: %d %s, want %d with %q", url, code, body, status, text)
		}
	}
	defer http.DefaultClient.CloseIdleConnections()
	want(200, "the site at /robots.txt", visitors+"/robots.txt")
	want(429, "place-needed", visitors+"/seats")
	want(200, `"threshold":3`, operators+"/room")

	write("flags", "event sale\nthreshold none\n")
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	said("the reload failed")
	want(200, `"threshold":3`, operators+"/room")
	write("flags", "event sale\nthreshold 4\npass /seats\n")
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	said("has read its settings again")
	want(200, `"threshold":4`, operators+"/room")
	want(200, "the site at /seats", visitors+"/seats")
	want(429, "place-needed", visitors+"/robots.txt")

	// The reader of its log ends, and the gate goes on.
	require.NoError(t, told.Close())
	write("flags", "event sale\nthreshold 5\n")
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	for read := false; !read; {
		_, body := get(operators + "/room")
		read = strings.Contains(body, `"threshold":5`)
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, 0, code(t, cmd.Wait()), "SIGTERM ends it with")
}
