package redisratelimit_test

import (
	"errors"
	"net"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/servicetest"
)

// server is a redis-server of the test's own, which may be hurt.
type server struct {
	t       *testing.T
	program string
	args    []string
	address string
	process *exec.Cmd
}

// newServer starts one; its data stays over a restart.
func newServer(t *testing.T, options ...string) *server {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		servicetest.Missing(t, "needs redis-server in PATH (Debian: redis-server)")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, program: program, address: l.Addr().String()}
	_, port, err := net.SplitHostPort(s.address)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.args = append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", ""}, options...)
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *server) url() string { return "redis://" + s.address + "/0" }

func (s *server) start() {
	s.t.Helper()
	s.process = exec.Command(s.program, s.args...)
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", s.address)
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("redis-server does not listen: %v", err)
		}
	}
}

// kill ends it at once, as kill -9 does, also when it is stopped.
func (s *server) kill() {
	s.t.Helper()
	if s.process == nil {
		return
	}
	s.signal(syscall.SIGKILL)
	var ended *exec.ExitError
	if err := s.process.Wait(); err != nil && !errors.As(err, &ended) {
		s.t.Error(err)
	}
	s.process = nil
}

func (s *server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.process.Process.Signal(sig); err != nil {
		s.t.Error(err)
	}
}
