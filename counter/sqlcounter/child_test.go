package sqlcounter_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/rediscounter"
	"github.com/millrace-go/millrace/counter/sqlcounter"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/sqltx"
)

const childVariable = "MILLRACE_TEST_FLUSHER"

// setup is the configuration of a flusher in its own process.
type setup struct {
	Dialect  sqltx.Dialect
	Database string
	Redis    string
	Sourced  bool
}

// flusher creates the flusher of a setup.
func (s setup) flusher(applied func()) (*counter.Counter, error) {
	db, err := connect(s.Dialect, s.Database)
	if err != nil {
		return nil, err
	}
	client, err := redisdb.Open(s.Redis, redisdb.Config{})
	if err != nil {
		return nil, err
	}
	store, err := rediscounter.New(client, rediscounter.Config{})
	if err != nil {
		return nil, err
	}
	return s.flusherOn(db, store, applied)
}

func (s setup) flusherOn(db *sql.DB, store driver.Store, applied func()) (*counter.Counter, error) {
	applier, err := sqlcounter.New(db, sqlcounter.Config{Dialect: s.Dialect})
	if err != nil {
		return nil, err
	}
	// Small transactions and short leases, so that kills often interrupt work.
	cfg := counter.Config{Applier: tellingApplier{applier, applied}, Every: time.Millisecond, Lease: 20 * time.Millisecond, Batch: 20, Logger: slog.New(slog.DiscardHandler)}
	if s.Sourced {
		if cfg.Source, err = sqlcounter.NewLog(db, s.Dialect, "comment"); err != nil {
			return nil, err
		}
	}
	return counter.New("comment", store, cfg)
}

// tellingApplier reports each batch that it has applied.
type tellingApplier struct {
	driver.Applier
	applied func()
}

func (a tellingApplier) Apply(ctx context.Context, l driver.Lease, b driver.Batch) (bool, error) {
	fresh, err := a.Applier.Apply(ctx, l, b)
	if err == nil {
		a.applied()
	}
	return fresh, err
}

// atWork is printed by a flusher that has applied its first batch, in the middle of a round.
const atWork = "flushing\n"

// child is the main function of the test's binary when it is started as a flusher: it flushes
// until it is killed.
func child() {
	text := os.Getenv(childVariable)
	if text == "" {
		return
	}
	var s setup
	err := json.Unmarshal([]byte(text), &s)
	if err == nil {
		var f *counter.Counter
		var once sync.Once
		say := func() { once.Do(func() { fmt.Print(atWork) }) }
		if f, err = s.flusher(say); err == nil {
			err = f.Run(context.Background())
		}
	}
	fmt.Fprintln(os.Stderr, "a flusher ended by itself:", err)
	os.Exit(1)
}

// startChild starts a flusher and waits until it has applied a batch. It ends with the context.
func startChild(ctx context.Context, t *testing.T, s setup) (kill func()) {
	t.Helper()
	text, err := json.Marshal(s)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	kill = func() {
		t.Helper()
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("kill the flusher: %v", err)
		}
		err := cmd.Wait()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
			t.Errorf("the flusher ended by itself: %v", err)
		}
	}
	word := make([]byte, len(atWork))
	if n, err := io.ReadFull(out, word); err != nil || string(word) != atWork {
		kill()
		t.Fatalf("the flusher says %q (%v, %v)", word[:n], err, context.Cause(ctx))
	}
	return kill
}
