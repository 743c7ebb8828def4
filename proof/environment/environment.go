package environment

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/millrace-go/millrace/proof/report"
)

// unknown stands for facts that cannot be found out.
const unknown = "unknown"

// Of returns the present environment: the machine, and the tree with the given
// root. Outputs are folders and files in it that a run writes by itself; changes
// there make no tree dirty.
func Of(ctx context.Context, root string, outputs ...string) report.Environment {
	commit, dirty := tree(ctx, root, outputs)
	return report.Environment{
		Date: time.Now().UTC().Truncate(time.Second), Commit: commit, Dirty: dirty,
		Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH,
		Kernel: cmp.Or(firstLine("/proc/sys/kernel/osrelease"), unknown),
		CPU:    cmp.Or(after("/proc/cpuinfo", "model name"), unknown), Cores: runtime.NumCPU(),
		Memory: cmp.Or(memory(), unknown), Load: Load(),
	}
}

// Load is the machine's load of the last minute.
func Load() string {
	load, _, _ := strings.Cut(firstLine("/proc/loadavg"), " ")
	return cmp.Or(load, unknown)
}

// tree is the commit, and whether the tree has uncommitted changes. Git takes no
// locks, so that other Git commands do not fail.
func tree(ctx context.Context, root string, outputs []string) (commit string, dirty bool) {
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"--no-optional-locks", "-C", root}, args...)...)
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("rev-parse", "HEAD")
	if err != nil {
		return unknown, true
	}
	args := []string{"status", "--porcelain", "--", "."}
	for _, o := range outputs {
		args = append(args, ":(exclude)"+filepath.ToSlash(o))
	}
	changes, err := git(args...)
	return commit, err != nil || changes != ""
}

func firstLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return strings.TrimSpace(string(line))
}

// after is the text behind the name and a colon, in the first such line of a file.
func after(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // it was only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func memory() string {
	var kB float64
	if _, err := fmt.Sscan(after("/proc/meminfo", "MemTotal"), &kB); err != nil {
		return ""
	}
	return fmt.Sprintf("%.0f GiB", kB/(1<<20))
}
