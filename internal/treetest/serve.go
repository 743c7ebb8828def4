// Package treetest serves this tree to the go command of a test, as a proxy serves a release.
package treetest

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

// Serve packs the modules of the tree at root, and makes them available to the go command of
// this test at the returned version. The go command's copies are deleted at the end of the test.
func Serve(t *testing.T, root string) (version string) {
	t.Helper()
	version = fmt.Sprintf("v0.1.0-test.%d", time.Now().UnixNano()) // unique in the module cache
	proxy := t.TempDir()
	Run(t, root, "go", "run", "./scripts/proxy", "-version", version, proxy)
	cache := strings.TrimSpace(Run(t, root, "go", "env", "GOMODCACHE"))
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(proxy)+","+strings.TrimSpace(Run(t, root, "go", "env", "GOPROXY")))
	t.Setenv("GONOSUMDB", "github.com/millrace-go/*")
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-modcacherw") // so that it can be deleted
	t.Cleanup(func() {
		// Modules are at most four folders below the root's.
		for _, pattern := range []string{"github.com/millrace-go/", "cache/download/github.com/millrace-go/"} {
			for range 5 {
				found, err := filepath.Glob(filepath.Join(cache, pattern+"*@"+version))
				more, failed := filepath.Glob(filepath.Join(cache, pattern+"*/@v/"+version+".*"))
				if err != nil || failed != nil {
					t.Error(err, failed)
				}
				for _, path := range append(found, more...) {
					if err := os.RemoveAll(path); err != nil {
						t.Error(err)
					}
				}
				pattern += "*/"
			}
		}
	})
	return version
}

// Run returns the output of a command. A command that fails ends the test.
func Run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	var out, trouble bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &trouble
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, trouble.String())
	}
	return out.String()
}
