package depstest

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestModulesImportNothingInternal: a user may require a transport and the library in different
// versions, and internal packages have no compatibility.
func TestModulesImportNothingInternal(t *testing.T) {
	g := build(t)
	for _, wrong := range strayInternals(g) {
		t.Error(wrong)
	}
}

func strayInternals(g graph) (wrong []string) {
	for _, p := range g.public() {
		home := g[p].home
		if home == "" || isTest(p) {
			continue
		}
		for _, imported := range g[p].imports {
			if g[imported].home != home && slices.Contains(strings.Split(imported, "/"), "internal") && g[imported].ours {
				wrong = append(wrong, fmt.Sprintf("%s imports %s, which is internal to another module; take what it needs from bus/driver", p, imported))
			}
		}
	}
	return wrong
}

// TestRootStandsAlone: every user requires the requirements of the root's module.
func TestRootStandsAlone(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	if strings.Contains(string(mod), module+"/") {
		t.Errorf("go.mod requires a module of this tree; move the test that needs it to internal/wholetest:\n%s", mod)
	}
}

// apart are the folders of modules that are not in go.work, and the scripts that test them.
func apart() map[string]string {
	return map[string]string{
		// It brings Google's client and what that requires. In go.work these requirements would
		// choose versions for all other modules.
		"examples/googlepubsub": "scripts/googlepubsub.sh",
	}
}

// TestWorkIsComplete: a module that is not in go.work is not tested, unless a script of its own
// that make test runs tests it; and one whose version go.work does not replace cannot be required
// before its release.
func TestWorkIsComplete(t *testing.T) {
	work, err := os.ReadFile("../../go.work")
	require.NoError(t, err)
	list := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard", "go.mod", "*/go.mod")
	list.Dir = "../.."
	out, err := list.Output()
	require.NoError(t, err)
	found := 0
	for _, file := range strings.Fields(string(out)) {
		folder := path.Dir(file)
		if folder == "." {
			continue
		}
		if script := apart()[folder]; script != "" {
			found++
			assert.Containsf(t, read(t, "Makefile"), "\n\t./"+script+" ", "make test does not run %s, which tests ./%s", script, folder)
			assert.Containsf(t, read(t, script), folder, "%s does not test ./%s", script, folder)
			continue
		}
		assert.Containsf(t, string(work), "\n\t./"+folder+"\n", "go.work does not use ./%s", folder)
		if required := module + "/" + folder + " v"; isPublic(folder) && !strings.Contains(string(work), required) {
			t.Errorf("go.work does not replace %s…", required)
		}
	}
	if found != len(apart()) {
		t.Errorf("%d of the modules in apart exist, want all %d", found, len(apart()))
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + file)
	require.NoError(t, err)
	return string(text)
}
