package depstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// module is the path that the modules of this tree begin with.
const module = "github.com/millrace-go/millrace"

// pkg is a package as the go command lists it. Imports of ours are without the module's path;
// Module is empty for ours and for the standard library.
type pkg struct {
	module  string
	home    string // the folder of the module of ours that it belongs to, "" for the root's
	ours    bool
	command bool
	imports []string
}

// graph has all packages by their import path, ours without the module's.
type graph map[string]pkg

// built is the graph of all modules of this tree: the go command runs once for all tests.
var built = sync.OnceValues(func() (graph, error) {
	if err := lookAt("../.."); err != nil {
		return nil, err
	}
	cmd := exec.Command("sh", "-c", `go list -deps -json=ImportPath,Module,Name,Imports $(./scripts/modules | sed 's#$#/...#')`)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil, fmt.Errorf("%s: %w\n%s", cmd, err, exit.Stderr)
		}
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	g := graph{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Name string
			Module           *struct {
				Path string
				Main bool
			}
			Imports []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return g, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", cmd, err)
		}
		one := pkg{command: p.Name == "main", imports: p.Imports}
		for i, path := range one.imports {
			one.imports[i] = short(path)
		}
		if p.Module != nil {
			if one.ours = p.Module.Main; one.ours {
				one.home = strings.TrimPrefix(strings.TrimPrefix(p.Module.Path, module), "/")
			} else {
				one.module = p.Module.Path
			}
		}
		g[short(p.ImportPath)] = one
	}
})

// lookAt opens every folder. The go command sees the files that a test opens, but not those that
// another program opens; so it repeats the tests when a file has changed.
func lookAt(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir
		}
		return err
	})
}

func build(t *testing.T) graph {
	t.Helper()
	g, err := built()
	require.NoError(t, err)
	return g
}

func short(path string) string { return strings.TrimPrefix(path, module+"/") }

// links returns the third-party modules that a binary links if it imports a package, sorted.
func (g graph) links(path string) []string {
	var modules []string
	for p := range g.reach(path) {
		if m := g[p].module; m != "" && !slices.Contains(modules, m) {
			modules = append(modules, m)
		}
	}
	slices.Sort(modules)
	return modules
}

// reach returns all packages that a binary links if it imports a package.
func (g graph) reach(path string) map[string]bool {
	seen := map[string]bool{}
	for open := []string{path}; len(open) > 0; {
		p := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[p] {
			continue
		}
		seen[p] = true
		open = append(open, g[p].imports...)
	}
	return seen
}

// public returns the packages that users import, sorted.
func (g graph) public() []string {
	var all []string
	for path, p := range g {
		if p.ours && !p.command && isPublic(path) {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return all
}

// ours returns all packages of this tree, sorted.
func (g graph) ours() []string {
	var all []string
	for path, p := range g {
		if p.ours {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return all
}

// isPublic reports whether users may import a package of ours.
func isPublic(path string) bool {
	parts := strings.Split(path, "/")
	return !slices.Contains(parts, "internal") && !isProgram(path)
}

// isProgram reports whether a package is part of a command, an example or the benchmarks, which
// no package imports.
func isProgram(path string) bool {
	return slices.Contains([]string{"cmd", "examples", "proof", "scripts"}, family(path))
}

// family is the first part of a path: the package to which the others belong.
func family(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}
