package redisbus_test

import (
	"context"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// server is a redis-server of the test's own, which it may kill.
type server struct {
	t      testing.TB
	port   int
	dir    string
	args   []string
	cmd    *exec.Cmd
	client *redis.Client
}

// startServer starts a server that writes everything to disk at once. Further
// arguments are those of redis-server.
func startServer(t testing.TB, args ...string) *server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		servicetest.Missing(t, "needs redis-server in the PATH")
	}
	s := &server{t: t, port: freePort(t), dir: t.TempDir(), args: args}
	s.client = redis.NewClient(&redis.Options{Addr: s.addr(), MaxRetries: -1, DisableIdentity: true})
	s.start()
	t.Cleanup(func() {
		if err := s.client.Close(); err != nil {
			t.Error(err)
		}
		s.kill()
	})
	return s
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (s *server) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

func (s *server) url() string { return "redis://" + s.addr() + "/0" }

func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command("redis-server", append([]string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir,
		"--appendonly", "yes", "--appendfsync", "always", "--save", "", "--repl-diskless-sync-delay", "0",
	}, s.args...)...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	redistest.Until(s.t, "redis-server answers", func() bool {
		err := s.client.Ping(context.Background()).Err()
		return err == nil || strings.HasPrefix(err.Error(), "NOAUTH")
	})
}

// kill is SIGKILL.
func (s *server) kill() {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Kill() //nolint:errcheck // it may have ended
	s.cmd.Wait()         //nolint:errcheck // it was killed
	s.cmd = nil
}
