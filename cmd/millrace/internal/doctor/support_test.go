package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/cmd/millrace/internal/doctor"
	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestMain(m *testing.M) {
	// Sarama counts fetches by topic in a registry of the process, which has one goroutine
	// for all topics and cannot be disabled.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

// examine examines one server.
func examine(t *testing.T, purpose doctor.Purpose, rawURL string, packages ...string) doctor.Result {
	t.Helper()
	// On a busy machine a server may need a while.
	return examineIn(t, 10*time.Second, purpose, rawURL, packages...)
}

func examineIn(t *testing.T, timeout time.Duration, purpose doctor.Purpose, rawURL string, packages ...string) doctor.Result {
	t.Helper()
	all := doctor.Examine(t.Context(), []doctor.Target{{URL: rawURL, Purpose: purpose}}, doctor.Config{Timeout: timeout, Packages: packages})
	require.Len(t, all, 1, "results for one server")
	u, err := url.Parse(rawURL)
	if err == nil {
		if password, ok := u.User.Password(); ok && password != "millrace" && strings.Contains(fmt.Sprint(all), password) {
			t.Errorf("the password is shown: %+v", all)
		}
	}
	for _, f := range all[0].Findings {
		assert.Equalf(t, (f.Level == doctor.OK), (f.Fix == ""), "%s: a fix belongs to what is wrong: %+v", rawURL, f)
	}
	return all[0]
}

// says reports whether a result holds a finding of the level and check whose
// text holds the words.
func says(r doctor.Result, level doctor.Level, check, words string) bool {
	for _, f := range r.Findings {
		if f.Level == level && f.Check == check && strings.Contains(f.Text, words) {
			return true
		}
	}
	return false
}

func want(t *testing.T, r doctor.Result, level doctor.Level, check, words string) {
	t.Helper()
	assert.Truef(t, says(r, level, check, words), "no %s about %s with %q: %+v", level, check, words, r)
}

// healthy fails the test for an error.
func healthy(t *testing.T, r doctor.Result) {
	t.Helper()
	for _, f := range r.Findings {
		if f.Level == doctor.Error {
			t.Errorf("%s: %+v", r.URL, f)
		}
	}
	if len(r.Findings) == 0 {
		t.Errorf("%s: nothing was found out", r.URL)
	}
}

// freePort is a port without a listener.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// listener accepts connections and hands them to serve.
func listener(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			all.Go(func() { serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return l.Addr().String()
}

// silent reads and never answers.
func silent(c net.Conn) { _, _ = io.Copy(io.Discard, c) } // until it is closed

// redisServer starts a server for one test and returns its address.
func redisServer(t *testing.T, options ...string) string {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		servicetest.Missing(t, "needs redis-server in PATH (Debian: redis-server)")
	}
	address := freePort(t)
	_, port, _ := strings.Cut(address, ":")
	ctx, cancel := context.WithCancel(context.Background())
	server := exec.CommandContext(ctx, program, append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", ""}, options...)...)
	if err := server.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		var ended *exec.ExitError
		if err := server.Wait(); err != nil && !errors.As(err, &ended) {
			t.Error(err)
		}
	})
	for deadline := time.Now().Add(20 * time.Second); ; {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
			return address
		}
		require.Falsef(t, time.Now().After(deadline), "redis-server does not listen: %v", err)
		time.Sleep(20 * time.Millisecond)
	}
}
