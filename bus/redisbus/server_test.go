package redisbus_test

import (
	"context"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
)

// server is a redis-server of one test, which the test may kill.
type server struct {
	*redistest.Server
	t      testing.TB
	client *redis.Client
}

// startServer starts a server that writes everything to disk at once. Further
// arguments are those of redis-server.
func startServer(t testing.TB, args ...string) *server {
	t.Helper()
	args = append([]string{"--appendonly", "yes", "--appendfsync", "always", "--repl-diskless-sync-delay", "0"}, args...)
	s := &server{t: t, Server: redistest.StartServer(t, args...)}
	s.client = redis.NewClient(&redis.Options{Addr: s.Address, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() {
		assert.NoError(t, s.client.Close())
	})
	s.loaded()
	return s
}

// freePort returns a port below those that connections get, so that it stays free.
func freePort(t testing.TB) int {
	t.Helper()
	for range 50 {
		port := 9000 + rand.IntN(3000)
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			require.NoError(t, l.Close())
			return port
		}
	}
	t.Fatal("there is no free port")
	return 0
}

// restart is SIGKILL and a new start.
func (s *server) restart() {
	s.t.Helper()
	s.Kill()
	s.Start()
	s.loaded()
}

func (s *server) loaded() {
	s.t.Helper()
	redistest.Eventually(s.t, "redis-server answers", func() error { return s.client.Ping(context.Background()).Err() })
}
