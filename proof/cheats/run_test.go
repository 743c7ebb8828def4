package cheats

import (
	"bytes"
	"errors"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func redisServer(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		servicetest.Missing(t, "needs redis-server in PATH (Debian: redis-server)")
	}
}

// TestRun kills instances and promotes the replica; what the people were answered holds.
func TestRun(t *testing.T) {
	redisServer(t)
	cfg := Config{
		People: 200, For: 25 * time.Second, Threshold: 20, Stay: 2 * time.Second, Active: 6 * time.Second,
		Kill: 4 * time.Second, Promote: 9 * time.Second,
	}
	var out bytes.Buffer
	if err := Run(t.Context(), cfg, &out); !errors.Is(err, judge.ErrNoProof) { // the machine may be busy
		require.NoError(t, err, &out)
	}
	require.Contains(t, out.String(), "2 promotions")
}

// TestBroken: the rooms have more places than are judged.
func TestBroken(t *testing.T) {
	redisServer(t)
	cfg := Config{People: 100, For: 10 * time.Second, Threshold: 20, more: 1}
	var out bytes.Buffer
	require.ErrorIs(t, Run(t.Context(), cfg, &out), judge.ErrBroken, &out)
	require.Contains(t, out.String(), "at most 21 of 20")
}
