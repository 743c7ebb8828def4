package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/sqlitebus"
)

// asMain makes the test binary behave as the tool.
const asMain = "MILLRACE_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// millrace is the tool in a process of its own.
func millrace(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asMain+"=1")
	return cmd
}

// code is the exit code of a process.
func code(t *testing.T, err error) int {
	t.Helper()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended):
		return ended.ExitCode()
	}
	t.Fatal(err)
	return 0
}

func TestExitCodes(t *testing.T) {
	for line, want := range map[string]int{
		"--version": 0, "migrate print --dialect sqlite": 0, "": 2, "dlq list": 2, "doctor sqlite:///no/such/folder/a.db": 1,
		"dlq drop orders.DLT --all --bus sqlite:///no/such/a.db": 2, // it could not ask: /dev/null is no terminal
	} {
		if got := code(t, millrace(strings.Fields(line)...).Run()); got != want {
			t.Errorf("%q ends with %d, want %d", line, got, want)
		}
	}
}

// TestCtrlC interrupts a slow redrive in a process of its own, then lets another finish:
// nothing is lost, and nothing is redriven twice.
func TestCtrlC(t *testing.T) {
	const n = 100
	raw := "sqlite://" + filepath.Join(t.TempDir(), "bus.db") + "?synchronous=normal"
	b, err := bus.Open(t.Context(), raw, sqlitebus.Scheme(sqlitebus.Config{Logger: slog.New(slog.DiscardHandler)}))
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, b.Close())
	})
	for i := range n {
		m := message.NewMessage(fmt.Sprint("letter-", i), []byte("x"))
		m.Metadata.Set(driver.DLQOriginalTopic, "orders")
		require.NoError(t, b.Publisher().Publish("orders.DLT", m))
	}
	delivered := func() (ids map[string]int) {
		t.Helper()
		all, err := b.Pending(t.Context(), "orders", "billing", 10*n)
		require.NoError(t, err)
		ids = map[string]int{}
		for _, m := range all {
			ids[m.UUID]++
		}
		return ids
	}

	var out, errs bytes.Buffer
	slow := millrace("dlq", "redrive", "orders.DLT", "--all", "--rate", "20", "--bus", raw)
	slow.Stdout, slow.Stderr = &out, &errs
	require.NoError(t, slow.Start())
	for deadline := time.Now().Add(30 * time.Second); len(delivered()) == 0; {
		if time.Now().After(deadline) {
			_ = slow.Process.Kill() // it did not begin
			t.Fatalf("nothing is redriven: %s", &errs)
		}
	}
	require.NoError(t, slow.Process.Signal(os.Interrupt))
	if got := code(t, slow.Wait()); got != 130 {
		t.Errorf("it ends with %d, want 130: %s", got, &errs)
	}
	first := delivered()
	if len(first) == n || !strings.HasPrefix(out.String(), fmt.Sprintf("%d dead letter", len(first))) {
		t.Errorf("%d letters were redriven, it says %s", len(first), &out)
	}
	assert.Equal(t, 0, code(t, millrace("dlq", "redrive", "orders.DLT", "--all", "--bus", raw).Run()), "the rest ends with")
	all := delivered()
	for id, times := range all {
		assert.Equalf(t, 1, times, "%s was redriven %d times", id, times)
	}
	assert.Lenf(t, all, n, "%d of %d letters were redriven", len(all), n)
}
