package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFirst builds the file as a newcomer does, in a module of its own in an
// empty folder, and runs it twice: the second run publishes and gets one more
// event, and nothing of the first again.
func TestFirst(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	module := "module example.com/first\n\ngo 1.26\n\nrequire github.com/millrace-go/millrace v0.0.0\n\nreplace github.com/millrace-go/millrace => " + root + "\n"
	for name, text := range map[string][]byte{"main.go": program, "go.sum": sums, "go.mod": []byte(module)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, dir, "go", "build", "-mod=mod", "-o", "first", ".")
	for range 2 {
		if got, want := run(t, dir, "./first"), "to Ada for two seats\n"; got != want {
			t.Errorf("the program says %q, want %q", got, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "app.db")); err != nil {
		t.Errorf("the program leaves no database: %v", err)
	}
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	var out, trouble bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &trouble
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, trouble.String())
	}
	if trouble.Len() > 0 {
		t.Errorf("%s complains:\n%s", name, trouble.String())
	}
	return out.String()
}
