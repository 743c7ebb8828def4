package launch

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// parentChild starts a child of its own, prints its process id, and waits to be
// killed.
func parentChild() {
	p, err := Start(Spec{Name: "grandchild", Path: os.Args[0], Args: []string{"child-deaf"}, Env: os.Environ()})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.PID())
	select {}
}

func TestChildDiesWithItsParent(t *testing.T) {
	parent := start(t, "child-parent")
	line, err := parent.FirstLine(within(t))
	require.NoError(t, err)
	pid, err := strconv.Atoi(line)
	require.NoErrorf(t, err, "the parent said %q", line)
	require.True(t, alive(pid), "the grandchild does not run")
	parent.Kill()
	for deadline := time.Now().Add(10 * time.Second); alive(pid); time.Sleep(5 * time.Millisecond) {
		require.Falsef(t, time.Now().After(deadline), "process %d outlives its parent", pid)
	}
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, ok := strings.Cut(string(stat), ") ")
	return ok && state[0] != 'Z' && state[0] != 'X'
}
