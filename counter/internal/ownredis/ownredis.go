// Package ownredis starts a Redis for one test, which may flush it as it likes.
//
// Failure modes: without redis-server in the PATH the test is skipped, or fails when
// services are required.
package ownredis

import (
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// Start returns the URL of a new Redis, which ends with the test. It keeps nothing.
func Start(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		servicetest.Missing(t, "needs redis-server in the PATH")
	}
	port := free(t)
	cmd := exec.Command(path, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended
		cmd.Wait()         //nolint:errcheck // killed
	})
	url := fmt.Sprintf("redis://127.0.0.1:%d/0", port)
	client, err := redisdb.Open(url, redisdb.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close() //nolint:errcheck // it was for a look
	for end := time.Now().Add(30 * time.Second); client.Ping(t.Context()).Err() != nil; {
		if time.Now().After(end) {
			t.Fatal("redis-server does not answer")
		}
		time.Sleep(10 * time.Millisecond) // a server says nothing when it is up
	}
	return url
}

// free is a port that nobody listens on.
func free(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it was for its port
	return l.Addr().(*net.TCPAddr).Port
}
