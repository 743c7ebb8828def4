package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/treetest"
)

// TestFirst builds the file as a newcomer does: in a module of its own, in an
// empty folder, against the tree as a module proxy serves it. It runs the
// program twice: the second run publishes and receives one more event, and
// receives none of the first run's again.
func TestFirst(t *testing.T) {
	dir := t.TempDir()
	program, err := os.ReadFile("main.go")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), program, 0o600))
	version := treetest.Serve(t, "../..")
	treetest.Run(t, dir, "go", "mod", "init", "example.com/first")
	treetest.Run(t, dir, "go", "get", "github.com/millrace-go/millrace@"+version)
	treetest.Run(t, dir, "go", "mod", "tidy")
	treetest.Run(t, dir, "go", "build", "-o", "first", ".")
	for range 2 {
		if got, want := treetest.Run(t, dir, "./first"), "to Ada for two seats\n"; got != want {
			t.Errorf("the program says %q, want %q", got, want)
		}
	}
	_, err = os.Stat(filepath.Join(dir, "app.db"))
	assert.NoError(t, err, "the program leaves no database")
}
