package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/servicetest"
)

// Server is a redis-server of the test's own, which the test may kill or stop.
type Server struct {
	Address string // host:port

	t       testing.TB
	program string
	args    []string
	process *exec.Cmd
	ended   chan struct{}
}

// StartServer starts a server, which ends with the test. Its data belongs to the test, and
// survives a restart as far as the options make it persistent. Without redis-server the test is
// skipped, or fails where servers are required.
func StartServer(t testing.TB, options ...string) *Server {
	t.Helper()
	return start(t, nil, options...)
}

// start is StartServer with arguments before those of every server.
func start(t testing.TB, first []string, options ...string) *Server {
	t.Helper()
	servicetest.Served(t)
	program, err := exec.LookPath("redis-server")
	if err != nil {
		servicetest.Missing(t, "needs redis-server in PATH (Debian: redis-server)")
	}
	dir := t.TempDir()
	for range 50 {
		// Below the range of outgoing ports, so that it is free for a restart too.
		port := strconv.Itoa(12_000 + rand.IntN(3000))
		s := &Server{t: t, program: program, Address: net.JoinHostPort("127.0.0.1", port)}
		s.args = slices.Concat(first, []string{"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", ""}, options)
		if s.run() {
			t.Cleanup(s.Kill)
			return s
		}
	}
	t.Fatal("redis-server finds no free port")
	return nil
}

// URL returns the URL of database 0.
func (s *Server) URL() string { return "redis://" + s.Address + "/0" }

// Start restarts the server, with more options.
func (s *Server) Start(options ...string) {
	s.t.Helper()
	s.args = append(s.args, options...)
	if !s.run() {
		s.t.Fatalf("redis-server %v ends at once", s.args)
	}
}

// run returns true when the server answers, also while it loads, and false when it ended.
func (s *Server) run() bool {
	s.t.Helper()
	process, ended := exec.Command(s.program, s.args...), make(chan struct{})
	if err := process.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		_ = process.Wait() // with an error, as it is killed
		close(ended)
	}()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		select {
		case <-ended:
			return false
		default:
		}
		if processOf(s.Address) == process.Process.Pid {
			s.process, s.ended = process, ended
			return true
		}
		if time.Now().After(deadline) {
			killed := process.Process.Kill()
			<-ended
			s.t.Fatalf("redis-server does not answer (its end: %v)", killed)
		}
	}
}

// processOf returns the process that serves an address, 0 for none.
func processOf(address string) (pid int) {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return 0
	}
	defer c.Close() //nolint:errcheck // nothing is written that could be lost
	if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return 0
	}
	if _, err := fmt.Fprint(c, "INFO server\r\n"); err != nil {
		return 0
	}
	for lines := bufio.NewScanner(c); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "process_id:"); ok {
			pid, _ = strconv.Atoi(id)
			return pid
		}
	}
	return 0
}

// Kill ends the server at once, as kill -9 does, also when it is stopped.
func (s *Server) Kill() {
	s.t.Helper()
	if s.process == nil {
		return
	}
	s.Signal(syscall.SIGKILL)
	<-s.ended
	s.process = nil
}

// Stop stops the process by a signal, and returns when it has stopped.
func (s *Server) Stop() {
	s.t.Helper()
	s.Signal(syscall.SIGSTOP)
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(s.process.Process.Pid, &status, syscall.WUNTRACED, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || !status.Stopped() {
			s.t.Fatalf("redis-server is not stopped, but %v: %v", status, err)
		}
		return
	}
}

// Signal sends the process a signal.
func (s *Server) Signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.process.Process.Signal(sig); err != nil {
		s.t.Error(err)
	}
}
