package main

import (
	"archive/zip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPack packs a tree of three modules: each has its own files, and requires the
// others by the version that is packed.
func TestPack(t *testing.T) {
	root, to := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"go.work":          "go 1.26\n\nuse (\n\t.\n\t./bus\n\t./bus/kafka\n)\n",
		".gitignore":       "/build/\n",
		"build/output":     "ignored",
		"go.mod":           "module github.com/millrace-go/millrace\n\ngo 1.26\n",
		"a.go":             "package a\n",
		"bus/go.mod":       "module github.com/millrace-go/millrace/bus\n\nrequire github.com/millrace-go/millrace v0.1.0\n",
		"bus/b.go":         "package b\n",
		"bus/kafka/go.mod": "module github.com/millrace-go/millrace/bus/kafka\n\nrequire (\n\tgithub.com/millrace-go/millrace/bus v0.1.0 // indirect\n\tgithub.com/other/millrace v0.1.0\n)\n",
		"bus/kafka/k.go":   "package k\n",
		"busy/c.go":        "package c\n",
	} {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	init := exec.Command("git", "init", "-q")
	init.Dir = root
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	require.NoError(t, Pack(root, to, "v0.1.0-mine"))
	for module, want := range map[string][]string{
		"millrace":           {".gitignore", "a.go", "busy/c.go", "go.mod", "go.work"},
		"millrace/bus":       {"b.go", "go.mod"},
		"millrace/bus/kafka": {"go.mod", "k.go"},
	} {
		if got := packed(t, to, module); !slices.Equal(got, want) {
			t.Errorf("%s has the files %q, want %q", module, got, want)
		}
	}
	mod, err := os.ReadFile(filepath.Join(to, "github.com/millrace-go/millrace/bus/kafka/@v/v0.1.0-mine.mod"))
	if err != nil || !strings.Contains(string(mod), "millrace-go/millrace/bus v0.1.0-mine // indirect\n\tgithub.com/other/millrace v0.1.0\n") {
		t.Errorf("the requirements are %s, %v", mod, err)
	}
	if err := Pack(root, to, "mine"); err == nil || !strings.Contains(err.Error(), "such as v0.1.0-mine") {
		t.Errorf("a version of another form: %v", err)
	}
}

func packed(t *testing.T, to, module string) (files []string) {
	t.Helper()
	zipped, err := zip.OpenReader(filepath.Join(to, "github.com/millrace-go", module, "@v", "v0.1.0-mine.zip"))
	require.NoError(t, err)
	defer zipped.Close()
	for _, file := range zipped.File {
		name, ok := strings.CutPrefix(file.Name, "github.com/millrace-go/"+module+"@v0.1.0-mine/")
		if !ok {
			t.Errorf("%s is not below its module", file.Name)
		}
		files = append(files, name)
		if name != "go.mod" {
			continue
		}
		in, err := file.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(in)
		if err != nil || strings.Contains(string(text), "millrace-go/millrace v0.1.0\n") {
			t.Errorf("the go.mod in the zip says %s, %v", text, err)
		}
	}
	slices.Sort(files)
	return files
}
