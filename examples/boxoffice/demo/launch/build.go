package launch

import (
	"context"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
)

// Boxoffice is the package of the box office's command, for [Build].
const Boxoffice = "github.com/millrace-go/millrace/examples/boxoffice"

// Build builds a command into a folder and returns the path of the program. It needs the
// go tool, and to run inside the tree.
func Build(ctx context.Context, dir, command string) (string, error) {
	program := filepath.Join(dir, path.Base(command))
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, command).CombinedOutput(); err != nil {
		return "", fmt.Errorf("launch: go build %s: %w\n%s", command, err, out)
	}
	return program, nil
}
