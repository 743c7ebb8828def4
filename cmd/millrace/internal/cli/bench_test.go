package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestBench(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := "sqlite://" + filepath.Join(dir, "app.db")
	args := []string{"bench", "--seconds", "1", "--size", "50", "--callers", "2", "--name", "bench_cli", "--db", file, "--bus", file}
	type result struct {
		Interrupted bool
		Outbox      *struct {
			URL                             string
			Appended, Drained               int
			AppendPerSecond, DrainPerSecond float64
			CommitToPublish                 *struct{ Count int }
		}
		Transport *struct {
			URL                string
			Published, Handled int
		}
		Limiter *struct{}
	}
	run := tool(t, append(args, "--json")...).want(t, 0, "makes the file bench_cli.db", "made the file", "removed the file")
	got := read[result](t, run)
	if o := got.Outbox; o == nil || o.URL != file || o.Appended == 0 || o.Drained == 0 || o.AppendPerSecond == 0 || o.DrainPerSecond == 0 || o.CommitToPublish.Count == 0 {
		t.Errorf("outbox %+v", o)
	}
	if tr := got.Transport; tr == nil || tr.Published == 0 || tr.Handled == 0 || got.Limiter != nil || got.Interrupted {
		t.Errorf("transport %+v, limiter %v, interrupted %v", tr, got.Limiter, got.Interrupted)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	// A file of another program is unchanged; the other requested parts are measured.
	theirs := filepath.Join(dir, "bench_cli.db")
	require.NoError(t, os.WriteFile(theirs, []byte("theirs"), 0o600))
	tool(t, args...).want(t, 1, "is there already", "use another --name")
	if content, err := os.ReadFile(theirs); err != nil || string(content) != "theirs" {
		t.Errorf("their file holds %q, %v", content, err)
	}
}

func TestBenchShowsWhatWorked(t *testing.T) {
	t.Parallel()
	redis := servicetest.Redis(t)
	run := tool(t, "bench", "--seconds", "1", "--db", "postgres://a:geh31m@127.0.0.1:1/b", "--redis", redis, "--name", "w"+strings.ReplaceAll(uuid.NewString()[:18], "-", "")).
		want(t, 1, "postgres://127.0.0.1:1/b: ", "limiter decision", "64 callers")
	if strings.Contains(run.out+run.err, "geh31m") || strings.Contains(run.out, "outbox") {
		t.Errorf("it shows %s\n%s", run.out, run.err)
	}
}
