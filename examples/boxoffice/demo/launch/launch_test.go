//go:build unix

package launch

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain is also the child: the test binary starts itself with a role.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "child-") {
		child(os.Args[1])
		return
	}
	goleak.VerifyTestMain(m)
}

func child(role string) {
	switch role {
	case "child-fails":
		fmt.Println("the data folder is on fire")
		os.Exit(3)
	case "child-chatters":
		for range 1000 {
			fmt.Println(strings.Repeat("x", 99))
		}
		fmt.Println("last words")
	case "child-parent":
		parentChild()
	case "child-deaf":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
		<-time.After(time.Hour) // a timer, or the runtime reports a deadlock
	case "child-polite":
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		fmt.Println("ready")
		<-asked
		fmt.Println("goodbye")
	case "child-serves":
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			os.Exit(4)
		}
		begin := time.Now()
		fmt.Printf("http://%s\n", ln.Addr())
		_ = http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if time.Since(begin) < 100*time.Millisecond {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
	}
}

func start(t *testing.T, role string) *Process {
	t.Helper()
	p, err := Start(Spec{Name: role, Path: os.Args[0], Args: []string{role}, Env: os.Environ()})
	require.NoError(t, err)
	t.Cleanup(func() { p.Kill() })
	return p
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestStartReportsAnEarlyEnd(t *testing.T) {
	p := start(t, "child-fails")
	err := p.Ready(within(t), "http://127.0.0.1:1/readyz")
	if err == nil || !strings.Contains(err.Error(), "on fire") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("%v", err)
	}
	assert.Error(t, p.Stop(time.Second), "a child that failed was stopped without an error")
	if _, err := Start(Spec{Name: "nothing", Path: "/nonexistent/program"}); err == nil {
		t.Error("a program that does not exist was started")
	}
}

func TestReady(t *testing.T) {
	p := start(t, "child-serves")
	url, err := p.FirstLine(within(t))
	require.NoError(t, err)
	require.NoError(t, p.Ready(within(t), url))
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Ready(soon, "http://127.0.0.1:1/"); err == nil || !strings.Contains(err.Error(), "not ready") {
		t.Errorf("%v", err)
	}
}

func TestKill(t *testing.T) {
	p := start(t, "child-deaf")
	_, err := p.FirstLine(within(t))
	require.NoError(t, err)
	assert.Equal(t, "running", p.End())
	if !p.Kill() || p.End() != "signal: killed" {
		t.Errorf("ended with %q", p.End())
	}
	assert.False(t, p.Kill(), "it was killed twice")
}

func TestStopAsks(t *testing.T) {
	p := start(t, "child-polite")
	_, err := p.FirstLine(within(t))
	require.NoError(t, err)
	assert.NoError(t, p.Stop(20*time.Second))
	assert.Contains(t, p.Tail(), "goodbye", "it was not asked")
}

func TestStopKillsTheDeaf(t *testing.T) {
	p := start(t, "child-deaf")
	_, err := p.FirstLine(within(t))
	require.NoError(t, err)
	if err := p.Stop(50 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("%v", err)
	}
	<-p.Done()
}

func TestChildHasItsOwnGroup(t *testing.T) {
	p := start(t, "child-deaf")
	group, err := syscall.Getpgid(p.PID())
	require.NoError(t, err)
	if group != p.PID() || group == syscall.Getpgrp() {
		t.Errorf("the child %d is in group %d, the parent in %d: Ctrl-C would reach both", p.PID(), group, syscall.Getpgrp())
	}
}

func TestTailIsBounded(t *testing.T) {
	p := start(t, "child-chatters")
	<-p.Done()
	text := p.Tail()
	if len(text) > keep || !strings.HasSuffix(text, "last words\n") {
		t.Errorf("%d bytes, ending %q", len(text), text[max(0, len(text)-30):])
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("BOXOFFICE_DB_URL", "postgres://somewhere/else")
	t.Setenv("QUEUE_THRESHOLD", "1")
	t.Setenv("LAUNCH_TEST", "kept")
	got := strings.Join(environment(map[string]string{"BOXOFFICE_ADDR": "x"}), "\n")
	if strings.Contains(got, "somewhere") || strings.Contains(got, "QUEUE_") {
		t.Error("settings for another box office reach the child")
	}
	if !strings.Contains(got, "LAUNCH_TEST=kept") || !strings.Contains(got, "BOXOFFICE_ADDR=x") {
		t.Error("the environment is not complete")
	}
}

func TestSuspend(t *testing.T) {
	p := start(t, "child-serves")
	url, err := p.FirstLine(within(t))
	require.NoError(t, err)
	addr := strings.TrimPrefix(url, "http://")
	require.NoError(t, p.Listens(within(t), addr))
	require.NoError(t, p.Suspend())
	soon, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	assert.Error(t, p.Ready(soon, url), "a suspended child answers")
	require.NoError(t, p.Resume())
	assert.NoError(t, p.Ready(within(t), url))
}

func TestUsage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	p := start(t, "child-chatters")
	<-p.Done()
	if _, err := p.CPU(); err == nil {
		t.Error("a process that has ended uses processor time")
	}
	before, err := CPU(os.Getpid(), true)
	require.NoError(t, err)
	for used := before; used < before+20*time.Millisecond; { // two ticks
		if used, err = CPU(os.Getpid(), false); err != nil {
			t.Fatal(err)
		}
	}
	p = start(t, "child-deaf")
	_, err = p.FirstLine(within(t))
	require.NoError(t, err)
	if n, err := p.Resident(); err != nil || n < 1<<20 {
		t.Errorf("%v bytes, %v", n, err)
	}
}
