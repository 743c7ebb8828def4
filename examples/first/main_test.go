package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFirst builds the file as a newcomer does, in a module of its own in an
// empty folder, against the tree as a proxy serves it, and runs it twice: the
// second run publishes and gets one more event, and nothing of the first again.
func TestFirst(t *testing.T) {
	dir, version := t.TempDir(), fmt.Sprintf("v0.1.0-first.%d", time.Now().UnixNano())
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), program, 0o600); err != nil {
		t.Fatal(err)
	}
	serve(t, version)
	run(t, dir, "go", "mod", "init", "example.com/first")
	run(t, dir, "go", "get", "github.com/millrace-go/millrace@"+version)
	run(t, dir, "go", "mod", "tidy")
	run(t, dir, "go", "build", "-o", "first", ".")
	for range 2 {
		if got, want := run(t, dir, "./first"), "to Ada for two seats\n"; got != want {
			t.Errorf("the program says %q, want %q", got, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "app.db")); err != nil {
		t.Errorf("the program leaves no database: %v", err)
	}
}

// serve makes the tree a version that the go command of this test finds, until the
// test ends.
func serve(t *testing.T, version string) {
	t.Helper()
	proxy := t.TempDir()
	run(t, "../..", "go", "run", "./scripts/proxy", "-version", version, proxy)
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(proxy)+","+strings.TrimSpace(run(t, ".", "go", "env", "GOPROXY")))
	t.Setenv("GONOSUMDB", "github.com/millrace-go/*")
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-modcacherw") // so that it can be deleted
	cache := strings.TrimSpace(run(t, ".", "go", "env", "GOMODCACHE"))
	t.Cleanup(func() {
		for _, pattern := range []string{"github.com/millrace-go/*@" + version, "cache/download/github.com/millrace-go/millrace/@v/" + version + ".*"} {
			found, err := filepath.Glob(filepath.Join(cache, pattern))
			if err != nil || len(found) == 0 {
				t.Errorf("nothing in the module cache is named %s: %v", pattern, err)
			}
			for _, path := range found {
				if err := os.RemoveAll(path); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// run returns what a command prints. A command that fails ends the test.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	var out, trouble bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &trouble
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, trouble.String())
	}
	if name != "go" && trouble.Len() > 0 {
		t.Errorf("%s complains:\n%s", name, trouble.String())
	}
	return out.String()
}
