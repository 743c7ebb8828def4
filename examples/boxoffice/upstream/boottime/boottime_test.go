package boottime

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

const childEnv = "BOOTTIME_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		fmt.Print(int64(Now()))
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func TestNowGrows(t *testing.T) {
	last := Now()
	for range 10_000 {
		now := Now()
		if now < last {
			t.Fatalf("%v after %v", now, last)
		}
		last = now
	}
}

// A process that runs between two readings of ours reads a time between them.
func TestProcessesShareIt(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	before := Now()
	out, err := cmd.Output()
	after := Now()
	require.NoError(t, err)
	n, err := strconv.ParseInt(string(out), 10, 64)
	require.NoError(t, err)
	if read := time.Duration(n); read < before || read > after {
		t.Errorf("the other process read %v, not between %v and %v", read, before, after)
	}
}
