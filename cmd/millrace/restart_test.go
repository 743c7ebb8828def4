package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGateRestartsUnderLoad restarts the gate three times while visitors come, each with a
// connection of its own. The listener is the supervisor's: no connection is refused or
// cut, and each visitor keeps the place.
func TestGateRestartsUnderLoad(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows hands no listener over")
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "the site at ", r.URL.Path) //nolint:errcheck // the client tells
	}))
	t.Cleanup(site.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	socket, err := listener.(*net.TCPListener).File()
	require.NoError(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	folder := t.TempDir()
	secret := filepath.Join(folder, "secret")
	require.NoError(t, os.WriteFile(secret, []byte(strings.Repeat("s", 32)), 0o600))
	start := func() *exec.Cmd {
		cmd := millrace("gate", "--listen", "fd:3", "--to", site.URL, "--event", "sale", "--secret-file", secret, "--state", filepath.Join(folder, "room"))
		cmd.Env = append(cmd.Env, "MILLRACE_REDIS_URL=") // the room is in memory
		cmd.ExtraFiles = []*os.File{socket}
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, or the test has failed
		if lines := bufio.NewScanner(out); !lines.Scan() || lines.Text() != "gate: http://"+listener.Addr().String() {
			t.Fatalf("the gate says %q", lines.Text())
		}
		return cmd
	}
	gate := start()

	ends, answered := make(chan struct{}), make(chan struct{})
	var visitors sync.WaitGroup
	for i := range 8 {
		ask := visitor(t, "http://"+listener.Addr().String())
		visitors.Go(func() {
			for {
				if status, text, err := ask(fmt.Sprint("/seats/", i)); err != nil || status != 200 || text != fmt.Sprint("the site at /seats/", i) {
					t.Errorf("visitor %d: %d %.100s %v", i, status, text, err)
				}
				select {
				case answered <- struct{}{}:
				case <-ends:
					return
				}
			}
		})
	}
	load := func(n int) {
		for range n {
			<-answered
		}
	}
	load(100)
	for range 3 {
		require.NoError(t, gate.Process.Signal(syscall.SIGTERM))
		ended := make(chan error, 1)
		go func() { ended <- gate.Wait() }()
		for running := true; running; { // visitors come while it ends
			select {
			case <-answered:
			case err := <-ended:
				if running = false; code(t, err) != 0 {
					t.Fatalf("the gate ended with %v", err)
				}
			}
		}
		gate = start()
		load(100)
	}
	close(ends)
	visitors.Wait()
	require.NoError(t, gate.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, 0, code(t, gate.Wait()), "SIGTERM ends it with")
}

// visitor takes a place, and returns a way to ask for pages with a new connection each.
func visitor(t *testing.T, home string) func(path string) (status int, text string, err error) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	var cookies []string
	ask := func(path string) (int, string, error) {
		r, err := http.NewRequest("GET", home+path, nil) //nolint:noctx // a hanging gate fails the test
		if err != nil {
			return 0, "", err
		}
		r.Header.Set("Accept", "text/html")
		r.Header.Set("Cookie", strings.Join(cookies, "; "))
		answer, err := client.Do(r)
		if err != nil {
			return 0, "", err
		}
		defer answer.Body.Close() //nolint:errcheck // read to its end
		for _, c := range answer.Cookies() {
			cookies = append(cookies, c.Name+"="+c.Value)
		}
		text, err := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text), err
	}
	for _, want := range []int{503, 303} {
		if got, _, err := ask("/"); err != nil || got != want {
			t.Fatalf("a visitor comes in: %d %v, want %d", got, err, want)
		}
	}
	return ask
}
