package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/proof/report"
)

func TestChoose(t *testing.T) {
	for only, want := range map[string]string{
		"":              "outbox,status,mariadb,mysql,kafka,batch,bus,frontdoor,limit,queue,gate,streams,growth-outbox,growth-queue,growth-streams,growth-limit,growth-bookings",
		"kafka":         "kafka",
		"bus,outbox":    "outbox,bus",
		"status,status": "status",
	} {
		chosen, err := choose(sections(), only)
		if err != nil || names(chosen) != want {
			t.Errorf("-only %q: %s, %v; want %s", only, names(chosen), err, want)
		}
	}
	for _, only := range []string{"kafak", "kafka,", "outbox, bus"} {
		if _, err := choose(sections(), only); err == nil || !strings.Contains(err.Error(), "mariadb") {
			t.Errorf("-only %q: %v", only, err)
		}
	}
}

// proof/REPORT.md and its plots match proof/results, to the byte.
func TestReport(t *testing.T) {
	bench := filepath.Join("..", "..")
	p, err := pageOf(filepath.Join(bench, "results"))
	require.NoError(t, err)
	if err := p.Differs(bench); err != nil {
		t.Errorf("%v; make it anew: go run ./proof/cmd/bench -report", err)
	}
}

// The sections together end within the promised 90 minutes.
func TestMinutes(t *testing.T) {
	total := 0.0
	for _, s := range sections() {
		if s.minutes <= 0 || s.title == "" || s.compared == "" {
			t.Errorf("section %s: %v minutes, title %q, compared %q", s.name, s.minutes, s.title, s.compared)
		}
		total += s.minutes
	}
	if total > 90 {
		t.Errorf("all sections take %v minutes", total)
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-list", "-only", "queue,growth-queue"}, &out); err != nil || strings.Count(out.String(), "\n") != 3 || !strings.Contains(out.String(), "growth-queue") {
		t.Errorf("%v\n%s", err, &out)
	}
}

func TestFlags(t *testing.T) {
	for says, args := range map[string][]string{
		"-rounds is 0": {"-rounds", "0"}, "another folder": {"-quick", "-results", "proof/results/"},
		"unexpected argument": {"kafka"}, "no section": {"-only", "kafak"}, "not defined": {"-fast"},
	} {
		if err := run(t.Context(), args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, want %q", args, err, says)
		}
	}
}

// tree is a repository with a commit, to measure in.
func tree(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false", "commit", "-q", "--allow-empty", "-m", "first"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return dir
}

func optionsIn(dir string) options {
	return options{root: dir, results: filepath.Join(dir, "proof", "results"), bench: filepath.Join(dir, "proof"), servers: map[string]string{}}
}

// fake is a section of the report that measures nothing.
func fake(name string, err error) section {
	return section{name: name, title: "fake", minutes: 1, run: func(_ context.Context, _ map[string]string, _ sizes, out *report.Recorder) error {
		out.Round(1, 2)
		out.AtLeast("claim of "+name, report.Value(1, "s"), 1)
		return err
	}}
}

// Nothing runs when a later section could not.
func TestMissingServer(t *testing.T) {
	o, ran := optionsIn(tree(t)), 0
	o.servers[postgres] = "postgres://"
	s := func(name string, needs ...string) section {
		return section{name: name, needs: needs, run: func(context.Context, map[string]string, sizes, *report.Recorder) error { ran++; return nil }}
	}
	err := o.runAll(t.Context(), []section{s("first", postgres), s("second", postgres, kafka)}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), kafka) || !strings.Contains(err.Error(), "second") || ran != 0 {
		t.Errorf("%v, %d sections ran", err, ran)
	}
}

// The results of a section are saved before the next begins, even if that fails;
// and the report is made of them.
func TestInterruptionLosesOneSection(t *testing.T) {
	o := optionsIn(tree(t))
	ctx, interrupt := context.WithCancel(t.Context())
	second := section{name: "status", title: "fake", run: func(context.Context, map[string]string, sizes, *report.Recorder) error {
		interrupt()
		return nil // it has noticed nothing
	}}
	var out bytes.Buffer
	err := o.runAll(ctx, []section{fake("outbox", nil), second, fake("mariadb", nil)}, &out)
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "status: ") {
		t.Errorf("%v", err)
	}
	got, ok, err := report.Load(o.results, "outbox")
	if err != nil || !ok || got.Claims[0].What != "claim of outbox" || got.Environment.Dirty || len(got.Environment.Commit) != 40 || got.Quick {
		t.Errorf("%v, %v, %+v", ok, err, got)
	}
	for _, name := range []string{"status", "mariadb"} {
		if _, ok, err := report.Load(o.results, name); ok || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
	page, err := os.ReadFile(filepath.Join(o.bench, "REPORT.md"))
	if err != nil || !bytes.Contains(page, []byte("| claim of outbox | ≥ 1 s | 1.00 s | – | yes |")) {
		t.Errorf("%v\n%s", err, page)
	}
	for _, want := range []string{"== 1 of 3, outbox: fake (about 2 min left)", "-- outbox, round 1 of 2", "== 2 of 3, status"} {
		assert.Containsf(t, out.String(), want, "%q is missing in\n%s", want, &out)
	}
}

func TestFailureNamesTheSection(t *testing.T) {
	broken, o := errors.New("broken"), optionsIn(tree(t))
	err := o.runAll(t.Context(), []section{fake("first", broken)}, &bytes.Buffer{})
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "first: ") {
		t.Errorf("%v", err)
	}
	if _, ok, _ := report.Load(o.results, "first"); ok {
		t.Error("a failed section is saved")
	}
}

// Results of a tree with uncommitted changes are refused before anything runs, or
// marked; results that are not saved need neither.
func TestDirtyTree(t *testing.T) {
	o, ran := optionsIn(tree(t)), 0
	require.NoError(t, os.WriteFile(filepath.Join(o.root, "change.go"), nil, 0o600))
	s := fake("outbox", nil)
	measured := s.run
	s.run = func(ctx context.Context, servers map[string]string, z sizes, out *report.Recorder) error {
		ran++
		return measured(ctx, servers, z, out)
	}
	if err := o.runAll(t.Context(), []section{s}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "-dirty") || ran != 0 {
		t.Errorf("%v, %d ran", err, ran)
	}
	o.dirty = true
	if err := o.runAll(t.Context(), []section{s}, &bytes.Buffer{}); err != nil || ran != 1 {
		t.Errorf("%v, %d ran", err, ran)
	}
	if got, ok, err := report.Load(o.results, "outbox"); err != nil || !ok || !got.Environment.Dirty {
		t.Errorf("%v, %v, %+v", ok, err, got.Environment)
	}
	o.dirty, o.results = false, ""
	if err := o.runAll(t.Context(), []section{s}, &bytes.Buffer{}); err != nil || ran != 2 {
		t.Errorf("%v, %d ran", err, ran)
	}
}

func TestPace(t *testing.T) {
	p := newPace([]section{{minutes: 2}, {minutes: 4}, {minutes: 6}}, false)
	assert.Equal(t, "about 12 min left", p.left(0, 0))
	assert.Equal(t, "about 11 min left", p.left(0, 0.5))
	p.done(0, 3*time.Minute) // half as fast again
	assert.Equal(t, fmt.Sprintf("about %d min left", 12), p.left(1, 0.5))
	assert.Equal(t, "a quick run", newPace([]section{{}}, true).left(0, 0))
}
