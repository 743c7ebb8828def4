// Package built builds the boxoffice binary for tests that start and kill real
// processes. Users run the same binary; without the race detector it starts in a
// tenth of a second, the test binary in three.
package built

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Boxoffice builds the command into dir and returns its path. It needs the go tool,
// which runs the tests anyway.
func Boxoffice(dir string) (path string, err error) {
	path = filepath.Join(dir, "boxoffice")
	cmd := exec.Command("go", "build", "-o", path, "github.com/millrace-go/millrace/examples/boxoffice")
	cmd.Env = os.Environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("built: go build: %w\n%s", err, out)
	}
	return path, nil
}
