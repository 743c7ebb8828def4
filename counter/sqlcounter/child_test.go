package sqlcounter_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/rediscounter"
	"github.com/millrace-go/millrace/counter/sqlcounter"
	"github.com/millrace-go/millrace/internal/redisdb"
)

const childVariable = "MILLRACE_TEST_FLUSHER"

// setup is what a flusher in a process of its own needs to know.
type setup struct {
	Dialect  sqlcounter.Dialect
	Database string
	Redis    string
	Sourced  bool
}

// flusher makes the flusher of a setup.
func (s setup) flusher() (*counter.Flusher, error) {
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
	return s.flusherOn(db, store)
}

func (s setup) flusherOn(db *sql.DB, store counter.Store) (*counter.Flusher, error) {
	c, err := counter.New("comment", store, counter.Config{})
	if err != nil {
		return nil, err
	}
	applier, err := sqlcounter.New(db, sqlcounter.Config{Dialect: s.Dialect})
	if err != nil {
		return nil, err
	}
	// Small transactions and short leases, so that there is much to die in the middle of.
	cfg := counter.FlusherConfig{Every: time.Millisecond, Lease: 20 * time.Millisecond, Batch: 20, Logger: slog.New(slog.DiscardHandler)}
	if s.Sourced {
		if cfg.Source, err = sqlcounter.NewLog(db, "comment", sqlcounter.LogConfig{Dialect: s.Dialect}); err != nil {
			return nil, err
		}
	}
	return counter.NewFlusher(c, applier, cfg)
}

// child is what the test's binary does when it is started as a flusher: it flushes
// until it is killed.
func child() {
	text := os.Getenv(childVariable)
	if text == "" {
		return
	}
	var s setup
	err := json.Unmarshal([]byte(text), &s)
	if err == nil {
		var f *counter.Flusher
		if f, err = s.flusher(); err == nil {
			fmt.Println("flushing")
			err = f.Run(context.Background())
		}
	}
	fmt.Fprintln(os.Stderr, "a flusher ended by itself:", err)
	os.Exit(1)
}

// startChild starts a flusher and waits until it works.
func startChild(t *testing.T, s setup) (kill func()) {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	word := make([]byte, len("flushing\n"))
	n, err := out.Read(word)
	if err != nil || strings.TrimSpace(string(word[:n])) != "flushing" {
		t.Fatalf("the flusher says %q (%v)", word[:n], err)
	}
	return func() {
		cmd.Process.Kill() //nolint:errcheck // SIGKILL; it may have ended
		cmd.Wait()         //nolint:errcheck // killed
	}
}
