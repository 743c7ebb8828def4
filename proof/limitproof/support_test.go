package limitproof

import (
	"context"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/servicetest"
)

// TestMain is also the child: the test binary starts itself as the upstream and
// as the workers.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "child" {
		os.Exit(Main(context.Background(), os.Args[2:], os.Stdout, os.Stderr))
	}
	logging.Disable()
	goleak.VerifyTestMain(m)
}

// small is a run of the test binary with limits that any machine can exceed.
func small(t *testing.T) config {
	t.Helper()
	c, err := parse([]string{"--seconds", "1", "--workers", "2", "--plain", "--seed", "1", "--redis-server", redisServer(t)}, io.Discard)
	require.NoError(t, err)
	c.hard, c.rate, c.low, c.lead = 100, 80, 60, 300*time.Millisecond
	c.program, c.prefix, c.temp = os.Args[0], []string{"child"}, t.TempDir()
	return c
}

func redisServer(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		servicetest.Missing(t, "needs redis-server in PATH (Debian: redis-server)")
	}
	return program
}

func actOf(t *testing.T, key string) act {
	t.Helper()
	acts, err := actsOf(key)
	if err != nil || len(acts) != 1 {
		t.Fatalf("%d acts, %v", len(acts), err)
	}
	return acts[0]
}
