package depstest

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
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
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mod), module+"/") {
		t.Errorf("go.mod requires a module of this tree; move the test that needs it to internal/wholetest:\n%s", mod)
	}
}

// TestWorkIsComplete: a module that is not in go.work is not tested, and one whose version it
// does not replace cannot be required before its release.
func TestWorkIsComplete(t *testing.T) {
	work, err := os.ReadFile("../../go.work")
	if err != nil {
		t.Fatal(err)
	}
	list := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard", "go.mod", "*/go.mod")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range strings.Fields(string(out)) {
		folder := path.Dir(file)
		if folder == "." {
			continue
		}
		if !strings.Contains(string(work), "\n\t./"+folder+"\n") {
			t.Errorf("go.work does not use ./%s", folder)
		}
		if required := module + "/" + folder + " v"; isPublic(folder) && !strings.Contains(string(work), required) {
			t.Errorf("go.work does not replace %s…", required)
		}
	}
}
