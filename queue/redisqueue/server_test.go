package redisqueue_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/servicetest"
)

// server is a redis-server of the test's own, which may be hurt.
type server struct {
	t       testing.TB
	program string
	args    []string
	address string
	process *exec.Cmd
	ended   chan struct{}
}

// newServer starts one; its data stays over a restart.
func newServer(t testing.TB, options ...string) *server {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		servicetest.Missing(t, "needs redis-server in PATH (Debian: redis-server)")
	}
	dir := t.TempDir()
	for range 50 {
		// Below the ports that connections get, so that it is free for a restart too.
		port := strconv.Itoa(12_000 + rand.IntN(3000))
		s := &server{t: t, program: program, address: net.JoinHostPort("127.0.0.1", port)}
		s.args = append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", ""}, options...)
		if s.run() {
			t.Cleanup(s.kill)
			return s
		}
	}
	t.Fatal("redis-server finds no free port")
	return nil
}

func (s *server) url() string { return "redis://" + s.address + "/0" }

// start has it run again, with more options.
func (s *server) start(options ...string) {
	s.t.Helper()
	s.args = append(s.args, options...)
	if !s.run() {
		s.t.Fatalf("redis-server %v ends at once", s.args)
	}
}

// run returns true when it answers, which it does while it loads too, and false
// when it ended.
func (s *server) run() bool {
	s.t.Helper()
	process, ended := exec.Command(s.program, s.args...), make(chan struct{})
	if err := process.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		process.Wait() // with an error, as it is killed
		close(ended)
	}()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		select {
		case <-ended:
			return false
		default:
		}
		if processOf(s.address) == process.Process.Pid {
			s.process, s.ended = process, ended
			return true
		}
		if time.Now().After(deadline) {
			process.Process.Kill()
			<-ended
			s.t.Fatal("redis-server does not answer")
		}
	}
}

// processOf returns which process serves an address, 0 for none.
func processOf(address string) (pid int) {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return 0
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	fmt.Fprint(c, "INFO server\r\n")
	for lines := bufio.NewScanner(c); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "process_id:"); ok {
			pid, _ = strconv.Atoi(id)
			return pid
		}
	}
	return 0
}

// kill ends it at once, as kill -9 does.
func (s *server) kill() {
	s.t.Helper()
	if s.process == nil {
		return
	}
	s.signal(syscall.SIGKILL)
	<-s.ended
	s.process = nil
}

func (s *server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.process.Process.Signal(sig); err != nil {
		s.t.Error(err)
	}
}
